#pragma once
#include "models/io/chat/ast.h"
#include "models/io/chat/lexer.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::jinja {

/// Reads expressions from tokens, with Jinja's precedences. Every function gives null (or false)
/// after a failure, the first of which is kept in status().
class ExprParser {
 public:
  explicit ExprParser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}
  [[nodiscard]] const Status& status() const {
    return error_.ok() && !unknown_.empty() ? unknown_.front() : error_;
  }

 protected:
  using Kind = Expr::Kind;
  /// How parse_tuple reads its parts.
  struct TupleRule {
    bool conditions = true;     ///< "a if b else c" may stand there
    bool targets = false;       ///< only names and literals, with "name.member"
    bool members = false;       ///< with `targets`: a namespace's member may stand there
    std::string_view end_name;  ///< a name that ends the tuple: "in"
    bool may_be_empty = false;  ///< "()" may stand there
  };

  ExprPtr expression(bool conditions = true);
  ExprPtr tuple(const TupleRule& rule);
  ExprPtr filters(ExprPtr subject, bool first_without_bar);
  ExprPtr assign_target(const TupleRule& rule);
  bool signature(Signature& signature);

  [[nodiscard]] const Token& current() const { return tokens_[at_]; }
  [[nodiscard]] const Token& ahead() const {
    return tokens_[std::min(at_ + 1, tokens_.size() - 1)];
  }
  void next() { at_ = std::min(at_ + 1, tokens_.size() - 1); }
  [[nodiscard]] bool is(Token::Kind kind) const { return current().kind == kind; }
  [[nodiscard]] bool is_name(std::string_view name) const;
  [[nodiscard]] bool is_operator(std::string_view op) const;
  bool skip_name(std::string_view name);
  bool skip_operator(std::string_view op);
  bool expect(Token::Kind kind, std::string_view what);
  bool expect_name(std::string_view name);
  bool expect_operator(std::string_view op);
  std::nullptr_t fail(int line, std::string_view message);
  std::nullptr_t fail_here(std::string_view wanted);
  [[nodiscard]] bool failed() const { return !error_.ok(); }

  /// Counts nesting while it lives.
  class Nested {
   public:
    explicit Nested(ExprParser& parser);
    ~Nested() { --parser_.nesting_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    ExprParser& parser_;
  };

  /// Whether an unknown filter or test is an error only when it is reached, as within Jinja's `if`.
  bool lenient_ = false;
  /// The signatures of the macros around, the innermost last.
  std::vector<Signature*> macros_;

 private:
  ExprPtr condition();
  ExprPtr either();
  ExprPtr both();
  ExprPtr negation();
  ExprPtr comparison();
  ExprPtr sum();
  ExprPtr concatenation();
  ExprPtr product();
  ExprPtr power();
  ExprPtr unary(bool with_filters);
  ExprPtr primary(bool members);
  ExprPtr name(bool members);
  ExprPtr bracketed_list();
  ExprPtr braced_dict();
  ExprPtr postfix(ExprPtr node);
  ExprPtr subscript(ExprPtr node);
  ExprPtr subscript_part();
  ExprPtr call(ExprPtr node);
  ExprPtr test(ExprPtr node);
  bool arguments(ArgList& args);
  [[nodiscard]] static bool assignable(const Expr& expr);
  using Level = ExprPtr (ExprParser::*)();
  ExprPtr left_associative(Level level, const std::vector<std::pair<std::string_view, Op>>& ops);
  ExprPtr make(Kind kind, int line) const;
  ExprPtr adopt(ExprPtr node, ExprPtr child);
  ExprPtr measured(ExprPtr node);
  ExprPtr constant(int line, Value value) const;

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int nesting_ = 0;
  Status error_;
  std::vector<Status> unknown_;  // filters and tests there are not, outside of conditions
};

}  // namespace sluice::jinja
