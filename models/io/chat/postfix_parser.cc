// The part of ExprParser that reads what follows a value: subscripts, calls, filters and tests; and
// the helpers over tokens.
#include "models/io/chat/expr_parser.h"
#include "models/io/chat/library.h"

#include <algorithm>

namespace sluice::jinja {

ExprPtr ExprParser::postfix(ExprPtr node) {
  while (node) {
    if (is_operator(".") || is_operator("[")) {
      node = subscript(std::move(node));
    } else if (is_operator("(")) {
      node = call(std::move(node));
    } else {
      break;
    }
  }
  return node;
}

ExprPtr ExprParser::subscript(ExprPtr subject) {
  const int line = current().line;
  const bool dot = is_operator(".");
  next();
  ExprPtr node = make(dot && is(Token::Kind::Name) ? Kind::Attribute : Kind::Item, line);
  node->items.push_back(std::move(subject));
  if (dot) {
    if (is(Token::Kind::Name)) {
      node->text = std::make_unique<Str>(current().text);
    } else if (is(Token::Kind::Integer)) {
      node->items.push_back(constant(line, Value::integer(current().integer)));
    } else {
      return fail_here("a name or a number");
    }
    next();
    return measured(std::move(node));
  }
  ExprPtr parts = make(Kind::Tuple, line);
  while (!is_operator("]")) {
    if (!parts->items.empty() && !expect_operator(",")) return nullptr;
    parts = adopt(std::move(parts), subscript_part());
    if (!parts) return nullptr;
  }
  next();
  ExprPtr index =
      parts->items.size() == 1 ? std::move(parts->items[0]) : measured(std::move(parts));
  return measured(adopt(std::move(node), std::move(index)));
}

ExprPtr ExprParser::subscript_part() {
  ExprPtr node = make(Kind::Slice, current().line);
  node->items.resize(3);
  const auto ended = [&] { return is_operator(":") || is_operator("]") || is_operator(","); };
  if (!is_operator(":")) {
    ExprPtr first = expression();
    if (!first || !is_operator(":")) return first;
    node->items[0] = std::move(first);
  }
  next();
  if (!ended()) {
    node->items[1] = expression();
    if (!node->items[1]) return nullptr;
  }
  if (skip_operator(":") && !ended()) {
    node->items[2] = expression();
    if (!node->items[2]) return nullptr;
  }
  return measured(std::move(node));
}

bool ExprParser::arguments(ArgList& args) {
  const int line = current().line;
  if (!expect_operator("(")) return false;
  const auto misplaced = [&] {
    fail(line, "arguments in an order that a call cannot have");
    return false;
  };
  bool first = true;
  while (!is_operator(")")) {
    if (!first) {
      if (!expect_operator(",")) return false;
      if (is_operator(")")) break;
    }
    first = false;
    if (skip_operator("*")) {
      if (args.star || args.star_star) return misplaced();
      if (!(args.star = expression())) return false;
    } else if (skip_operator("**")) {
      if (args.star_star) return misplaced();
      if (!(args.star_star = expression())) return false;
    } else if (is(Token::Kind::Name) && ahead().kind == Token::Kind::Operator &&
               ahead().text == "=") {
      if (args.star_star) return misplaced();
      std::string key = current().text;
      next();
      next();
      const bool twice = std::any_of(args.keywords.begin(), args.keywords.end(),
                                     [&](const auto& known) { return known.first == key; });
      if (twice) {
        fail(line, fmt::format("the argument '{}' is given twice", key));
        return false;
      }
      ExprPtr value = expression();
      if (!value) return false;
      args.keywords.emplace_back(std::move(key), std::move(value));
    } else {
      if (args.star || args.star_star || !args.keywords.empty()) return misplaced();
      ExprPtr value = expression();
      if (!value) return false;
      args.positional.push_back(std::move(value));
    }
  }
  next();
  return true;
}

ExprPtr ExprParser::call(ExprPtr subject) {
  ExprPtr node = make(Kind::Call, current().line);
  node->items.push_back(std::move(subject));
  node->args = std::make_unique<ArgList>();
  if (!arguments(*node->args)) return nullptr;
  return measured(std::move(node));
}

ExprPtr ExprParser::filters(ExprPtr subject, bool first_without_bar) {
  while (is_operator("|") || first_without_bar) {
    if (!first_without_bar) next();
    first_without_bar = false;
    ExprPtr node = make(Kind::Filter, current().line);
    std::string name = current().text;
    if (!expect(Token::Kind::Name, "a filter")) return nullptr;
    if (!lenient_ && find_filter(name) == nullptr) {
      unknown_.push_back(error_at(Code::InvalidArgument, node->line,
                                  fmt::format("there is no filter '{}'", name)));
    }
    node->text = std::make_unique<Str>(std::move(name));
    node->items.push_back(std::move(subject));
    node->args = std::make_unique<ArgList>();
    if (is_operator("(") && !arguments(*node->args)) return nullptr;
    subject = measured(std::move(node));
    if (!subject) return nullptr;
  }
  return subject;
}

ExprPtr ExprParser::test(ExprPtr subject) {
  next();
  const bool negated = skip_name("not");
  ExprPtr node = make(Kind::Test, current().line);
  std::string name = current().text;
  if (!expect(Token::Kind::Name, "a test")) return nullptr;
  if (!lenient_ && find_test(name) == nullptr) {
    unknown_.push_back(
        error_at(Code::InvalidArgument, node->line, fmt::format("there is no test '{}'", name)));
  }
  node->text = std::make_unique<Str>(std::move(name));
  node->items.push_back(std::move(subject));
  node->args = std::make_unique<ArgList>();
  const bool literal = is(Token::Kind::String) || is(Token::Kind::Integer) ||
                       is(Token::Kind::Float) || is_operator("[") || is_operator("{");
  const bool names_value =
      is(Token::Kind::Name) && !is_name("else") && !is_name("or") && !is_name("and");
  if (is_operator("(")) {
    if (!arguments(*node->args)) return nullptr;
  } else if (literal || names_value) {
    if (is_name("is")) return fail_here("something else than a second test");
    ExprPtr argument = postfix(primary(false));
    if (!argument) return nullptr;
    node->args->positional.push_back(std::move(argument));
  }
  node = measured(std::move(node));
  if (!negated || !node) return node;
  ExprPtr opposite = make(Kind::Not, node->line);
  return measured(adopt(std::move(opposite), std::move(node)));
}

bool ExprParser::assignable(const Expr& expr) {
  if (expr.kind != Kind::Tuple) return expr.kind == Kind::Name || expr.kind == Kind::Member;
  return std::all_of(expr.items.begin(), expr.items.end(),
                     [](const ExprPtr& item) { return assignable(*item); });
}

ExprPtr ExprParser::assign_target(const TupleRule& rule) {
  const int line = current().line;
  ExprPtr target = tuple(rule);
  if (!target) return nullptr;
  return assignable(*target) ? std::move(target) : fail(line, "only names can be assigned to");
}

bool ExprParser::signature(Signature& signature) {
  if (!expect_operator("(")) return false;
  while (!is_operator(")")) {
    if (!signature.parameters.empty() && !expect_operator(",")) return false;
    std::string parameter = current().text;
    if (!expect(Token::Kind::Name, "a parameter")) return false;
    signature.parameters.push_back(std::move(parameter));
    if (skip_operator("=")) {
      ExprPtr value = expression();
      if (!value) return false;
      signature.defaults.push_back(std::move(value));
    } else if (!signature.defaults.empty()) {
      fail(current().line, "a parameter without a default follows one with a default");
      return false;
    }
  }
  next();
  return true;
}

bool ExprParser::is_name(std::string_view name) const {
  return is(Token::Kind::Name) && current().text == name;
}

bool ExprParser::is_operator(std::string_view op) const {
  return is(Token::Kind::Operator) && current().text == op;
}

bool ExprParser::skip_name(std::string_view name) {
  const bool found = is_name(name);
  if (found) next();
  return found;
}

bool ExprParser::skip_operator(std::string_view op) {
  const bool found = is_operator(op);
  if (found) next();
  return found;
}

bool ExprParser::expect(Token::Kind kind, std::string_view what) {
  if (is(kind)) {
    next();
    return true;
  }
  fail_here(what);
  return false;
}

bool ExprParser::expect_name(std::string_view name) {
  if (skip_name(name)) return true;
  fail_here(fmt::format("'{}'", name));
  return false;
}

bool ExprParser::expect_operator(std::string_view op) {
  if (skip_operator(op)) return true;
  fail_here(fmt::format("'{}'", op));
  return false;
}

std::nullptr_t ExprParser::fail(int line, std::string_view message) {
  if (error_.ok()) error_ = error_at(Code::InvalidArgument, line, message);
  return nullptr;
}

std::nullptr_t ExprParser::fail_here(std::string_view wanted) {
  std::string found;
  switch (current().kind) {
    case Token::Kind::Data:
      found = "text";
      break;
    case Token::Kind::PrintBegin:
      found = "'{{'";
      break;
    case Token::Kind::PrintEnd:
      found = "'}}'";
      break;
    case Token::Kind::BlockBegin:
      found = "'{%'";
      break;
    case Token::Kind::BlockEnd:
      found = "'%}'";
      break;
    case Token::Kind::String:
      found = "a string";
      break;
    case Token::Kind::Integer:
    case Token::Kind::Float:
      found = "a number";
      break;
    case Token::Kind::End:
      found = "the end of the template";
      break;
    default:
      found = fmt::format("'{}'", current().text);
  }
  return fail(current().line, fmt::format("expected {}, found {}", wanted, found));
}

}  // namespace sluice::jinja
