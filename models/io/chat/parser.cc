#include "models/io/chat/parser.h"

#include "models/io/chat/expr_parser.h"

#include <initializer_list>
#include <memory>
#include <utility>

namespace sluice::jinja {

namespace {

class Parser : public ExprParser {
 public:
  using ExprParser::ExprParser;

  Body template_body() {
    Body body = statements({});
    return body;
  }

 private:
  using Ends = std::initializer_list<std::string_view>;
  using StmtPtr = std::unique_ptr<Stmt>;
  static constexpr TupleRule kTarget{.conditions = true,
                                     .targets = true,
                                     .members = false,
                                     .end_name = "in",
                                     .may_be_empty = false};
  static constexpr TupleRule kSetTarget{
      .conditions = true, .targets = true, .members = true, .end_name = {}, .may_be_empty = false};
  static constexpr TupleRule kAny{};
  static constexpr TupleRule kPlain{.conditions = false,
                                    .targets = false,
                                    .members = false,
                                    .end_name = {},
                                    .may_be_empty = false};

  StmtPtr make(Stmt::Kind kind) const {
    auto stmt = std::make_unique<Stmt>();
    stmt->kind = kind;
    stmt->line = current().line;
    return stmt;
  }

  bool at_end_tag(Ends ends) const {
    for (const std::string_view end : ends) {
      if (is_name(end)) return true;
    }
    return false;
  }

  // Statements until a tag of `ends`, whose name is then the current token.
  Body statements(Ends ends) {
    const Nested nested(*this);
    Body body;
    while (!failed() && !is(Token::Kind::End)) {
      if (is(Token::Kind::Data)) {
        StmtPtr text = make(Stmt::Kind::Text);
        text->text = current().text;
        body.push_back(std::move(text));
        next();
      } else if (is(Token::Kind::PrintBegin)) {
        next();
        StmtPtr print = make(Stmt::Kind::Print);
        print->value = tuple(kAny);
        if (print->value) expect(Token::Kind::PrintEnd, "'}}'");
        body.push_back(std::move(print));
      } else {
        expect(Token::Kind::BlockBegin, "a tag");
        if (at_end_tag(ends)) return body;
        if (StmtPtr statement = tag(ends)) body.push_back(std::move(statement));
        if (!failed()) expect(Token::Kind::BlockEnd, "'%}'");
      }
    }
    if (!failed() && ends.size() > 0) {
      fail_here(fmt::format("'{{% {} %}}'", *(ends.end() - 1)));
    }
    return body;
  }

  // The body of a tag: from its '%}' to the tag that ends it. `scoped`: it is a scope of its own.
  Body body_until(Ends ends, bool scoped = true) {
    skip_operator(":");
    if (!expect(Token::Kind::BlockEnd, "'%}'")) return {};
    const bool outer = std::exchange(lenient_, scoped ? false : lenient_);
    Body body = statements(ends);
    lenient_ = outer;
    return body;
  }
  Body closed_body(std::string_view end) {
    Body body = body_until({end});
    expect_name(end);
    return body;
  }

  StmtPtr tag(Ends ends) {
    if (!is(Token::Kind::Name)) {
      fail_here("the name of a tag");
      return nullptr;
    }
    if (is_name("for")) return for_tag();
    if (is_name("if")) return if_tag();
    if (is_name("set")) return set_tag();
    if (is_name("macro")) return macro_tag();
    if (is_name("call")) return call_tag();
    if (is_name("filter")) return filter_tag();
    if (is_name("with")) return with_tag();
    if (is_name("generation")) return generation_tag();
    if (is_name("print")) return print_tag();
    if (is_name("break") || is_name("continue")) return jump_tag();
    std::string wanted;
    for (const std::string_view end : ends) wanted += fmt::format(" or '{}'", end);
    fail(current().line, fmt::format("unknown tag '{}'{}", current().text,
                                     wanted.empty() ? "" : ", expected a statement" + wanted));
    return nullptr;
  }

  StmtPtr for_tag() {
    StmtPtr stmt = make(Stmt::Kind::For);
    next();
    if (!(stmt->target = assign_target(kTarget)) || !expect_name("in")) return nullptr;
    TupleRule iterated = kPlain;
    iterated.end_name = "recursive";
    if (!(stmt->value = tuple(iterated))) return nullptr;
    if (skip_name("if") && !(stmt->test = expression())) return nullptr;
    if (is_name("recursive")) {
      fail(stmt->line, "recursive loops are not supported");
      return nullptr;
    }
    ++loops_;
    stmt->body = body_until({"else", "endfor"});
    --loops_;
    if (skip_name("else")) stmt->otherwise = body_until({"endfor"});
    expect_name("endfor");
    return stmt;
  }

  StmtPtr if_tag() {
    StmtPtr stmt = make(Stmt::Kind::If);
    const bool outer = std::exchange(lenient_, true);
    do {
      next();
      ExprPtr condition = tuple(kPlain);
      if (!condition) break;
      Body body = body_until({"elif", "else", "endif"}, false);
      stmt->branches.emplace_back(std::move(condition), std::move(body));
    } while (!failed() && is_name("elif"));
    if (!failed() && skip_name("else")) stmt->otherwise = body_until({"endif"}, false);
    lenient_ = outer;
    if (!failed()) expect_name("endif");
    return stmt;
  }

  StmtPtr set_tag() {
    StmtPtr stmt = make(Stmt::Kind::Set);
    next();
    if (!(stmt->target = assign_target(kSetTarget))) return nullptr;
    if (skip_operator("=")) {
      stmt->value = tuple(kAny);
      return stmt;
    }
    stmt->kind = Stmt::Kind::SetBlock;
    stmt->value = filters(nullptr, false);
    if (failed()) return nullptr;
    stmt->body = closed_body("endset");
    return stmt;
  }

  // The body of something that is called: no loop around it can be left, and `varargs`, `kwargs`
  // and `caller` in it are its own.
  void called_body(Stmt& stmt, std::string_view end) {
    const int loops = std::exchange(loops_, 0);
    macros_.push_back(stmt.signature.get());
    stmt.body = closed_body(end);
    macros_.pop_back();
    loops_ = loops;
  }

  StmtPtr macro_tag() {
    StmtPtr stmt = make(Stmt::Kind::Macro);
    stmt->signature = std::make_unique<Signature>();
    next();
    stmt->signature->name = current().text;
    if (!expect(Token::Kind::Name, "the macro's name")) return nullptr;
    if (!signature(*stmt->signature)) return nullptr;
    called_body(*stmt, "endmacro");
    return stmt;
  }

  StmtPtr call_tag() {
    StmtPtr stmt = make(Stmt::Kind::CallBlock);
    stmt->signature = std::make_unique<Signature>();
    stmt->signature->name = "caller";
    next();
    if (is_operator("(") && !signature(*stmt->signature)) return nullptr;
    if (!(stmt->value = expression())) return nullptr;
    if (stmt->value->kind != Kind::Call) {
      fail(stmt->line, "expected a call");
      return nullptr;
    }
    called_body(*stmt, "endcall");
    return stmt;
  }

  StmtPtr filter_tag() {
    StmtPtr stmt = make(Stmt::Kind::FilterBlock);
    next();
    if (!(stmt->value = filters(nullptr, true))) return nullptr;
    stmt->body = closed_body("endfilter");
    return stmt;
  }

  StmtPtr with_tag() {
    StmtPtr stmt = make(Stmt::Kind::With);
    next();
    while (!failed() && !is(Token::Kind::BlockEnd)) {
      if (!stmt->bindings.empty() && !expect_operator(",")) return nullptr;
      ExprPtr target = assign_target(kTarget);
      if (!target || !expect_operator("=")) return nullptr;
      ExprPtr value = expression();
      if (!value) return nullptr;
      stmt->bindings.emplace_back(std::move(target), std::move(value));
    }
    stmt->body = closed_body("endwith");
    return stmt;
  }

  StmtPtr generation_tag() {
    StmtPtr stmt = make(Stmt::Kind::Generation);
    stmt->signature = std::make_unique<Signature>();
    next();
    called_body(*stmt, "endgeneration");
    return stmt;
  }

  StmtPtr print_tag() {
    StmtPtr stmt = make(Stmt::Kind::Print);
    stmt->value = std::make_unique<Expr>();
    stmt->value->kind = Kind::Concat;
    stmt->value->line = stmt->line;
    next();
    while (!failed() && !is(Token::Kind::BlockEnd)) {
      if (!stmt->value->items.empty() && !expect_operator(",")) return nullptr;
      ExprPtr part = expression();
      if (!part) return nullptr;
      stmt->value->items.push_back(std::move(part));
    }
    return stmt;
  }

  StmtPtr jump_tag() {
    StmtPtr stmt = make(is_name("break") ? Stmt::Kind::Break : Stmt::Kind::Continue);
    if (loops_ == 0) {
      fail(stmt->line, fmt::format("'{}' outside of a loop", current().text));
      return nullptr;
    }
    next();
    return stmt;
  }

  int loops_ = 0;
};

}  // namespace

Result<Body> parse(std::string_view source) {
  if (source.size() > kMaxSourceBytes) {
    return error_at(Code::ResourceExhausted, 1,
                    fmt::format("the template is larger than {} bytes", kMaxSourceBytes));
  }
  ASSIGN_OR_RETURN(std::vector<Token> tokens, tokenize(source));
  Parser parser(std::move(tokens));
  Body body = parser.template_body();
  if (!parser.status().ok()) return parser.status();
  return body;
}

}  // namespace sluice::jinja
