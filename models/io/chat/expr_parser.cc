#include "models/io/chat/expr_parser.h"

#include "models/io/chat/library.h"
#include "models/io/chat/parser.h"

#include <algorithm>

namespace sluice::jinja {

ExprParser::Nested::Nested(ExprParser& parser) : parser_(parser) {
  if (++parser_.nesting_ > kMaxNesting) {
    parser_.fail(parser_.current().line, fmt::format("nested more than {} deep", kMaxNesting));
  }
}

ExprPtr ExprParser::make(Kind kind, int line) const {
  auto node = std::make_unique<Expr>();
  node->kind = kind;
  node->line = line;
  return node;
}

ExprPtr ExprParser::constant(int line, Value value) const {
  ExprPtr node = make(Kind::Constant, line);
  node->constant = value;
  return node;
}

ExprPtr ExprParser::adopt(ExprPtr node, ExprPtr child) {
  if (!child) return nullptr;
  node->items.push_back(std::move(child));
  return node;
}

// Sets the height of a finished node; operators without brackets build deep trees without nesting.
ExprPtr ExprParser::measured(ExprPtr node) {
  if (!node || failed()) return nullptr;
  int below = 0;
  const auto measure = [&](const ExprPtr& child) {
    if (child) below = std::max(below, child->height);
  };
  for (const ExprPtr& child : node->items) measure(child);
  if (node->args) {
    for (const ExprPtr& child : node->args->positional) measure(child);
    for (const auto& [key, child] : node->args->keywords) measure(child);
    measure(node->args->star);
    measure(node->args->star_star);
  }
  node->height = below + 1;
  if (node->height > kMaxExprHeight) {
    return fail(node->line, fmt::format("an expression of more than {} levels", kMaxExprHeight));
  }
  return node;
}

ExprPtr ExprParser::expression(bool conditions) {
  const Nested nested(*this);
  if (failed()) return nullptr;
  return conditions ? condition() : either();
}

ExprPtr ExprParser::condition() {
  const size_t unknown = unknown_.size();
  ExprPtr value = either();
  while (value && is_name("if")) {
    // The value may never be asked for, so what it does not know is told when it is.
    unknown_.resize(std::min(unknown, unknown_.size()));
    ExprPtr node = make(Kind::Condition, current().line);
    next();
    const bool outer = std::exchange(lenient_, true);
    ExprPtr test = either();
    ExprPtr otherwise;
    bool ok = test != nullptr;
    if (ok && skip_name("else")) {
      const Nested nested(*this);
      otherwise = failed() ? nullptr : condition();
      ok = otherwise != nullptr;
    }
    lenient_ = outer;
    if (!ok) return nullptr;
    node->items.push_back(std::move(test));
    node->items.push_back(std::move(value));
    node->items.push_back(std::move(otherwise));
    value = measured(std::move(node));
  }
  return value;
}

ExprPtr ExprParser::either() {
  ExprPtr left = both();
  while (left && is_name("or")) {
    ExprPtr node = make(Kind::Or, current().line);
    next();
    node->items.push_back(std::move(left));
    left = measured(adopt(std::move(node), both()));
  }
  return left;
}

ExprPtr ExprParser::both() {
  ExprPtr left = negation();
  while (left && is_name("and")) {
    ExprPtr node = make(Kind::And, current().line);
    next();
    node->items.push_back(std::move(left));
    left = measured(adopt(std::move(node), negation()));
  }
  return left;
}

ExprPtr ExprParser::negation() {
  if (!is_name("not")) return comparison();
  const Nested nested(*this);
  if (failed()) return nullptr;
  ExprPtr node = make(Kind::Not, current().line);
  next();
  return measured(adopt(std::move(node), negation()));
}

ExprPtr ExprParser::comparison() {
  static const std::vector<std::pair<std::string_view, Op>> kOps = {
      {"==", Op::Equal},     {"!=", Op::NotEqual}, {"<", Op::Less},
      {"<=", Op::LessEqual}, {">", Op::Greater},   {">=", Op::GreaterEqual}};
  ExprPtr first = sum();
  if (!first) return nullptr;
  ExprPtr node = make(Kind::Compare, current().line);
  node->items.push_back(std::move(first));
  while (true) {
    const auto known = std::find_if(kOps.begin(), kOps.end(),
                                    [&](const auto& op) { return is_operator(op.first); });
    if (known != kOps.end()) {
      next();
      node->ops.push_back(known->second);
    } else if (skip_name("in")) {
      node->ops.push_back(Op::In);
    } else if (is_name("not") && ahead().kind == Token::Kind::Name && ahead().text == "in") {
      next();
      next();
      node->ops.push_back(Op::NotIn);
    } else {
      break;
    }
    node = adopt(std::move(node), sum());
    if (!node) return nullptr;
  }
  return node->ops.empty() ? std::move(node->items[0]) : measured(std::move(node));
}

ExprPtr ExprParser::left_associative(Level level,
                                     const std::vector<std::pair<std::string_view, Op>>& ops) {
  ExprPtr left = (this->*level)();
  while (left) {
    const auto known =
        std::find_if(ops.begin(), ops.end(), [&](const auto& op) { return is_operator(op.first); });
    if (known == ops.end()) break;
    ExprPtr node = make(Kind::Binary, current().line);
    next();
    node->ops.push_back(known->second);
    node->items.push_back(std::move(left));
    left = measured(adopt(std::move(node), (this->*level)()));
  }
  return left;
}

ExprPtr ExprParser::sum() {
  static const std::vector<std::pair<std::string_view, Op>> kOps = {{"+", Op::Add},
                                                                    {"-", Op::Subtract}};
  return left_associative(&ExprParser::concatenation, kOps);
}

ExprPtr ExprParser::concatenation() {
  ExprPtr first = product();
  if (!first || !is_operator("~")) return first;
  ExprPtr node = make(Kind::Concat, current().line);
  node->items.push_back(std::move(first));
  while (node && skip_operator("~")) node = adopt(std::move(node), product());
  return measured(std::move(node));
}

ExprPtr ExprParser::product() {
  static const std::vector<std::pair<std::string_view, Op>> kOps = {
      {"*", Op::Multiply}, {"/", Op::Divide}, {"//", Op::FloorDivide}, {"%", Op::Modulo}};
  return left_associative(&ExprParser::power, kOps);
}

ExprPtr ExprParser::power() {
  // Jinja's power leans to the left, unlike Python's.
  ExprPtr left = unary(true);
  while (left && is_operator("**")) {
    ExprPtr node = make(Kind::Binary, current().line);
    next();
    node->ops.push_back(Op::Power);
    node->items.push_back(std::move(left));
    left = measured(adopt(std::move(node), unary(true)));
  }
  return left;
}

ExprPtr ExprParser::unary(bool with_filters) {
  const Nested nested(*this);
  if (failed()) return nullptr;
  ExprPtr node;
  if (is_operator("-") || is_operator("+")) {
    node = make(is_operator("-") ? Kind::Negative : Kind::Positive, current().line);
    next();
    node = measured(adopt(std::move(node), unary(false)));
  } else {
    node = primary(false);
  }
  node = postfix(std::move(node));
  while (node && with_filters) {
    if (is_operator("|")) {
      node = filters(std::move(node), false);
    } else if (is_name("is")) {
      node = test(std::move(node));
    } else if (is_operator("(")) {
      node = call(std::move(node));
    } else {
      break;
    }
  }
  return node;
}

ExprPtr ExprParser::name(bool members) {
  ExprPtr node = make(Kind::Name, current().line);
  node->text = std::make_unique<Str>(current().text);
  const std::string_view name = node->text->view;
  next();
  if (name == "true" || name == "True") return constant(node->line, Value::boolean(true));
  if (name == "false" || name == "False") return constant(node->line, Value::boolean(false));
  if (name == "none" || name == "None") return constant(node->line, Value::none());
  if (members && skip_operator(".")) {
    ExprPtr member = make(Kind::Name, current().line);
    member->text = std::make_unique<Str>(current().text);
    if (!expect(Token::Kind::Name, "a name")) return nullptr;
    node->kind = Kind::Member;
    return adopt(std::move(node), std::move(member));
  }
  if (!macros_.empty()) {
    Signature& macro = *macros_.back();
    macro.takes_varargs |= name == "varargs";
    macro.takes_kwargs |= name == "kwargs";
    macro.takes_caller |= name == "caller";
  }
  return node;
}

ExprPtr ExprParser::primary(bool members) {
  const Token& token = current();
  switch (token.kind) {
    case Token::Kind::Name:
      return name(members);
    case Token::Kind::String: {
      ExprPtr node = make(Kind::Constant, token.line);
      std::string text;
      for (; is(Token::Kind::String); next()) text += current().text;
      node->text = std::make_unique<Str>(std::move(text));
      node->constant = Value::string(node->text.get());
      return node;
    }
    case Token::Kind::Integer:
      next();
      return constant(token.line, Value::integer(token.integer));
    case Token::Kind::Float:
      next();
      return constant(token.line, Value::real(token.real));
    default:
      break;
  }
  if (skip_operator("(")) {
    ExprPtr node = tuple({.conditions = true,
                          .targets = false,
                          .members = false,
                          .end_name = {},
                          .may_be_empty = true});
    return node && expect_operator(")") ? std::move(node) : nullptr;
  }
  if (is_operator("[")) return bracketed_list();
  if (is_operator("{")) return braced_dict();
  return fail_here("an expression");
}

ExprPtr ExprParser::tuple(const TupleRule& rule) {
  const auto ended = [&] {
    return is(Token::Kind::PrintEnd) || is(Token::Kind::BlockEnd) || is_operator(")") ||
           (!rule.end_name.empty() && is_name(rule.end_name));
  };
  ExprPtr node = make(Kind::Tuple, current().line);
  bool is_tuple = false;
  while (true) {
    if (!node->items.empty() && !expect_operator(",")) return nullptr;
    if (ended()) break;
    node =
        adopt(std::move(node), rule.targets ? primary(rule.members) : expression(rule.conditions));
    if (!node) return nullptr;
    if (!is_operator(",")) break;
    is_tuple = true;
  }
  if (!is_tuple) {
    if (!node->items.empty()) return std::move(node->items[0]);
    if (!rule.may_be_empty) return fail_here("an expression");
  }
  return measured(std::move(node));
}

ExprPtr ExprParser::bracketed_list() {
  ExprPtr node = make(Kind::List, current().line);
  next();
  while (!is_operator("]")) {
    if (!node->items.empty() && !expect_operator(",")) return nullptr;
    if (is_operator("]")) break;
    node = adopt(std::move(node), expression());
    if (!node) return nullptr;
  }
  next();
  return measured(std::move(node));
}

ExprPtr ExprParser::braced_dict() {
  ExprPtr node = make(Kind::Dict, current().line);
  next();
  while (!is_operator("}")) {
    if (!node->items.empty() && !expect_operator(",")) return nullptr;
    if (is_operator("}")) break;
    node = adopt(std::move(node), expression());
    if (!node || !expect_operator(":")) return nullptr;
    node = adopt(std::move(node), expression());
    if (!node) return nullptr;
  }
  next();
  return measured(std::move(node));
}

}  // namespace sluice::jinja
