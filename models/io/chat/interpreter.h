#pragma once
#include "models/io/chat/ast.h"
#include "models/io/chat/runtime.h"
#include "models/io/chat/scope.h"

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::jinja {

/// Runs a template once. Everything it makes lives in it; the template outlives it.
class Interpreter {
 public:
  /// A piece of the output that a generation block wrote: bytes [begin, end). As in transformers,
  /// `begin` counts what the template had written outside of macros and captured blocks.
  struct Span {
    size_t begin = 0;
    size_t end = 0;
  };

  explicit Interpreter(const RenderLimits& limits) : rt_(limits) {}

  [[nodiscard]] Runtime& runtime() { return rt_; }
  /// A variable that the template finds when it sets none of that name itself.
  void define(const Value& name, const Value& value) { context_.set(name, value); }

  /// False when it failed; runtime().status() says why.
  [[nodiscard]] bool run(const Body& body);
  [[nodiscard]] std::string& output() { return root_; }
  [[nodiscard]] const std::vector<Span>& spans() const { return spans_; }

 private:
  /// What a statement does to those after it.
  enum class Flow { Next, Break, Continue, Stop };

  // Statements (interpreter.cc).
  Flow execute(const Body& body);
  Flow execute(const Stmt& stmt);
  Flow for_loop(const Stmt& stmt);
  Flow loop_items(const Stmt& stmt, std::vector<Value> items);
  bool filtered(const Stmt& stmt, std::vector<Value>& items);
  Flow if_else(const Stmt& stmt);
  Flow set_block(const Stmt& stmt);
  Flow with(const Stmt& stmt);
  Flow call_block(const Stmt& stmt);
  Flow filter_block(const Stmt& stmt);
  Flow generation(const Stmt& stmt);
  Flow in_scope(const Body& body);
  /// Runs `body` in a scope of its own and gives its output as a value in `captured`.
  Flow capture(const Body& body, Value& captured);
  bool write(std::string_view text);
  bool write_value(const Value& value);
  bool assign(const Expr& target, const Value& value);
  bool unpack(const Expr& target, const Value& value);
  Value call_macro(const MacroValue& macro, CallArgs& args);
  bool bind_parameters(const MacroValue& macro, CallArgs& args);
  Value make_macro(const Stmt& stmt);

  // Expressions (evaluate.cc).
  Value evaluate(const Expr& expr);
  Value dispatch(const Expr& expr);
  Value name(const Expr& expr);
  Value collection(const Expr& expr);
  Value dict(const Expr& expr);
  Value subscript(const Expr& expr);
  Value slice(const Expr& expr);
  Value call(const Expr& expr);
  Value call_value(const Value& callee, CallArgs& args);
  Value filter(const Expr& expr, const Value* block_text = nullptr);
  Value test(const Expr& expr);
  Value unary(const Expr& expr);
  Value binary(const Expr& expr);
  Value compare(const Expr& expr);
  Value concatenation(const Expr& expr);
  Value condition(const Expr& expr);
  bool arguments(const ArgList& list, CallArgs& args);

  class Depth;
  class Inner;
  bool pay_for_scope();

  Runtime rt_;
  Dict context_;
  std::deque<Scope> scopes_;  // a deque: macros keep pointers
  std::deque<MacroValue> macros_;
  size_t paid_scopes_ = 0;
  Scope* scope_ = nullptr;
  std::string root_;
  std::string* out_ = &root_;
  std::vector<Span> spans_;
  int depth_ = 0;
};

}  // namespace sluice::jinja
