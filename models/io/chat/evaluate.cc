// The part of Interpreter that evaluates expressions.
#include "models/io/chat/access.h"
#include "models/io/chat/compare.h"
#include "models/io/chat/depth.h"
#include "models/io/chat/interpreter.h"
#include "models/io/chat/library.h"
#include "models/io/chat/operators.h"
#include "models/io/chat/text.h"

namespace sluice::jinja {

Value Interpreter::evaluate(const Expr& expr) {
  const Depth depth(*this);
  if (!depth.ok() || !rt_.step()) return Value::failed();
  rt_.line = expr.line;
  return dispatch(expr);
}

Value Interpreter::dispatch(const Expr& expr) {
  switch (expr.kind) {
    case Expr::Kind::Constant:
      return expr.constant;
    case Expr::Kind::Name:
      return name(expr);
    case Expr::Kind::List:
    case Expr::Kind::Tuple:
      return collection(expr);
    case Expr::Kind::Dict:
      return dict(expr);
    case Expr::Kind::Attribute:
    case Expr::Kind::Item:
      return subscript(expr);
    case Expr::Kind::Slice:
      return slice(expr);
    case Expr::Kind::Call:
      return call(expr);
    case Expr::Kind::Filter:
      return filter(expr);
    case Expr::Kind::Test:
      return test(expr);
    case Expr::Kind::Not:
    case Expr::Kind::Negative:
    case Expr::Kind::Positive:
      return unary(expr);
    case Expr::Kind::Binary:
      return binary(expr);
    case Expr::Kind::Compare:
      return compare(expr);
    case Expr::Kind::And:
    case Expr::Kind::Or: {
      const Value left = evaluate(*expr.items[0]);
      if (left.is(Kind::Failed) || truthy(left) == (expr.kind == Expr::Kind::Or)) return left;
      return evaluate(*expr.items[1]);
    }
    case Expr::Kind::Concat:
      return concatenation(expr);
    case Expr::Kind::Condition:
      return condition(expr);
    case Expr::Kind::Member:
      break;
  }
  return rt_.fail("a namespace's member stands where it cannot");
}

Value Interpreter::name(const Expr& expr) {
  const std::string_view name = expr.text->view;
  for (const Scope* scope = scope_; scope != nullptr; scope = scope->parent) {
    if (!rt_.step(static_cast<int64_t>(scope->variables.size() / 16))) return Value::failed();
    for (const auto& [known, value] : scope->variables) {
      if (known == name) return value;
    }
  }
  if (const Value* const value = context_.find(name)) return *value;
  if (const Function* const function = find_global(name)) return Value::function(function);
  return Value::undefined(expr.text.get());
}

Value Interpreter::collection(const Expr& expr) {
  std::vector<Value> items;
  items.reserve(expr.items.size());
  for (const ExprPtr& item : expr.items) {
    items.push_back(evaluate(*item));
    if (items.back().is(Kind::Failed)) return Value::failed();
  }
  return expr.kind == Expr::Kind::List ? rt_.list(std::move(items)) : rt_.tuple(std::move(items));
}

Value Interpreter::dict(const Expr& expr) {
  Dict dict;
  for (size_t i = 0; i + 1 < expr.items.size(); i += 2) {
    const Value key = evaluate(*expr.items[i]);
    const Value value = key.is(Kind::Failed) ? key : evaluate(*expr.items[i + 1]);
    if (value.is(Kind::Failed)) return value;
    if (!Dict::hash(key)) {
      return rt_.fail(fmt::format("unhashable type: '{}'", type_name(key.kind())));
    }
    dict.set(key, value);
  }
  return rt_.dict(std::move(dict));
}

Value Interpreter::subscript(const Expr& expr) {
  const Value subject = evaluate(*expr.items[0]);
  if (subject.is(Kind::Failed)) return subject;
  if (expr.kind == Expr::Kind::Attribute) {
    rt_.line = expr.line;
    return attribute(rt_, subject, *expr.text);
  }
  const Value index = evaluate(*expr.items[1]);
  if (index.is(Kind::Failed)) return index;
  rt_.line = expr.line;
  return item(rt_, subject, index);
}

Value Interpreter::slice(const Expr& expr) {
  Value parts[3] = {Value::none(), Value::none(), Value::none()};
  for (size_t i = 0; i < 3; ++i) {
    if (expr.items[i]) parts[i] = evaluate(*expr.items[i]);
    if (parts[i].is(Kind::Failed)) return parts[i];
  }
  return rt_.slice(parts[0], parts[1], parts[2]);
}

bool Interpreter::arguments(const ArgList& list, CallArgs& args) {
  args.args.reserve(args.args.size() + list.positional.size());
  for (const ExprPtr& argument : list.positional) {
    args.args.push_back(evaluate(*argument));
    if (args.args.back().is(Kind::Failed)) return false;
  }
  for (const auto& [key, argument] : list.keywords) {
    const Value value = evaluate(*argument);
    if (value.is(Kind::Failed)) return false;
    args.keywords.emplace_back(key, value);
  }
  if (list.star) {
    const Value more = evaluate(*list.star);
    if (more.is(Kind::Failed) || !iterate(rt_, more, args.args)) return false;
  }
  if (list.star_star) {
    const Value more = evaluate(*list.star_star);
    if (more.is(Kind::Failed)) return false;
    if (!more.is(Kind::Dict)) {
      rt_.fail("the argument after ** must be a mapping");
      return false;
    }
    if (!rt_.charge_items(static_cast<int64_t>(more.dict().size()), 64)) return false;
    for (const auto& [key, value] : more.dict().entries()) {
      if (!key.is(Kind::String)) {
        rt_.fail("keywords must be strings");
        return false;
      }
      args.keywords.emplace_back(key.text(), value);
    }
  }
  return true;
}

Value Interpreter::call(const Expr& expr) {
  const Value callee = evaluate(*expr.items[0]);
  if (callee.is(Kind::Failed)) return callee;
  CallArgs args;
  if (callee.is(Kind::Method)) args.args.push_back(callee.method().self);
  if (!arguments(*expr.args, args)) return Value::failed();
  rt_.line = expr.line;
  return call_value(callee, args);
}

Value Interpreter::call_value(const Value& callee, CallArgs& args) {
  switch (callee.kind()) {
    case Kind::Function:
      return callee.function().body(rt_, args);
    case Kind::Method:
      return callee.method().function->body(rt_, args);
    case Kind::Macro:
      return call_macro(callee.macro(), args);
    case Kind::Undefined:
      return rt_.fail_undefined(callee);
    default:
      return rt_.fail(fmt::format("'{}' object is not callable", type_name(callee.kind())));
  }
}

Value Interpreter::filter(const Expr& expr, const Value* block_text) {
  CallArgs args;
  if (expr.items[0] == nullptr) {
    if (block_text == nullptr) return rt_.fail("a filter of a block stands outside of it");
    args.args.push_back(*block_text);
  } else if (block_text != nullptr && expr.items[0]->kind == Expr::Kind::Filter) {
    args.args.push_back(filter(*expr.items[0], block_text));
  } else {
    args.args.push_back(evaluate(*expr.items[0]));
  }
  if (args.args[0].is(Kind::Failed) || !arguments(*expr.args, args)) return Value::failed();
  rt_.line = expr.line;
  const Function* const function = find_filter(expr.text->view);
  if (function == nullptr) return rt_.fail(fmt::format("there is no filter '{}'", expr.text->view));
  return function->body(rt_, args);
}

Value Interpreter::test(const Expr& expr) {
  CallArgs args;
  args.args.push_back(evaluate(*expr.items[0]));
  if (args.args[0].is(Kind::Failed) || !arguments(*expr.args, args)) return Value::failed();
  rt_.line = expr.line;
  const Function* const function = find_test(expr.text->view);
  if (function == nullptr) return rt_.fail(fmt::format("there is no test '{}'", expr.text->view));
  return function->body(rt_, args);
}

Value Interpreter::unary(const Expr& expr) {
  const Value value = evaluate(*expr.items[0]);
  if (value.is(Kind::Failed)) return value;
  rt_.line = expr.line;
  if (expr.kind == Expr::Kind::Not) return Value::boolean(!truthy(value));
  return expr.kind == Expr::Kind::Negative ? negative(rt_, value) : positive(rt_, value);
}

Value Interpreter::binary(const Expr& expr) {
  const Value left = evaluate(*expr.items[0]);
  if (left.is(Kind::Failed)) return left;
  const Value right = evaluate(*expr.items[1]);
  if (right.is(Kind::Failed)) return right;
  rt_.line = expr.line;
  return arithmetic(rt_, expr.ops[0], left, right);
}

Value Interpreter::compare(const Expr& expr) {
  Value left = evaluate(*expr.items[0]);
  bool holds = true;
  for (size_t i = 0; i < expr.ops.size() && holds; ++i) {
    const Value right = left.is(Kind::Failed) ? left : evaluate(*expr.items[i + 1]);
    if (right.is(Kind::Failed)) return right;
    rt_.line = expr.line;
    const Op op = expr.ops[i];
    bool ok = false;
    if (op == Op::Equal || op == Op::NotEqual) {
      ok = equal(rt_, left, right, holds);
      holds = holds == (op == Op::Equal);
    } else if (op == Op::In || op == Op::NotIn) {
      ok = contains(rt_, right, left, holds);
      holds = holds == (op == Op::In);
    } else {
      ok = ordered(rt_, op, left, right, holds);
    }
    if (!ok) return Value::failed();
    left = right;
  }
  return Value::boolean(holds);
}

Value Interpreter::concatenation(const Expr& expr) {
  std::string out;
  for (const ExprPtr& part : expr.items) {
    const Value value = evaluate(*part);
    if (value.is(Kind::Failed) || !append_str(rt_, value, out)) return Value::failed();
  }
  rt_.line = expr.line;
  return rt_.str(std::move(out));
}

Value Interpreter::condition(const Expr& expr) {
  const Value test = evaluate(*expr.items[0]);
  if (test.is(Kind::Failed)) return test;
  if (truthy(test)) return evaluate(*expr.items[1]);
  if (expr.items[2]) return evaluate(*expr.items[2]);
  return rt_.undefined("the inline if-expression was false and has no else");
}

}  // namespace sluice::jinja
