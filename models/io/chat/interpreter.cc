#include "models/io/chat/interpreter.h"

#include "models/io/chat/access.h"
#include "models/io/chat/compare.h"
#include "models/io/chat/depth.h"
#include "models/io/chat/text.h"

#include <algorithm>

namespace sluice::jinja {

namespace {
constexpr size_t kScopeBytes = 96;
constexpr size_t kMaxSpans = 1 << 20;
}  // namespace

bool Interpreter::run(const Body& body) {
  scope_ = &scopes_.emplace_back();
  return execute(body) != Flow::Stop;
}

bool Interpreter::pay_for_scope() {
  if (scopes_.size() < paid_scopes_) return true;
  ++paid_scopes_;
  return rt_.charge(kScopeBytes);
}

Interpreter::Flow Interpreter::execute(const Body& body) {
  const Depth depth(*this);
  if (!depth.ok()) return Flow::Stop;
  for (const auto& stmt : body) {
    const Flow flow = execute(*stmt);
    if (flow != Flow::Next) return flow;
  }
  return Flow::Next;
}

Interpreter::Flow Interpreter::execute(const Stmt& stmt) {
  rt_.line = stmt.line;
  if (!rt_.step()) return Flow::Stop;
  const auto done = [](bool ok) { return ok ? Flow::Next : Flow::Stop; };
  switch (stmt.kind) {
    case Stmt::Kind::Text:
      return done(write(stmt.text));
    case Stmt::Kind::Print: {
      const Value value = evaluate(*stmt.value);
      return done(!value.is(Kind::Failed) && write_value(value));
    }
    case Stmt::Kind::For:
      return for_loop(stmt);
    case Stmt::Kind::If:
      return if_else(stmt);
    case Stmt::Kind::Set: {
      const Value value = evaluate(*stmt.value);
      return done(!value.is(Kind::Failed) && assign(*stmt.target, value));
    }
    case Stmt::Kind::SetBlock:
      return set_block(stmt);
    case Stmt::Kind::With:
      return with(stmt);
    case Stmt::Kind::Macro: {
      const Value macro = make_macro(stmt);
      if (!macro.is(Kind::Failed)) scope_->set(stmt.signature->name, macro);
      return done(!macro.is(Kind::Failed));
    }
    case Stmt::Kind::CallBlock:
      return call_block(stmt);
    case Stmt::Kind::FilterBlock:
      return filter_block(stmt);
    case Stmt::Kind::Generation:
      return generation(stmt);
    case Stmt::Kind::Break:
      return Flow::Break;
    case Stmt::Kind::Continue:
      return Flow::Continue;
  }
  return Flow::Next;
}

bool Interpreter::write(std::string_view text) {
  if (out_->size() + text.size() > rt_.limits().max_output_bytes) {
    rt_.exhausted(fmt::format("more than {} bytes of output", rt_.limits().max_output_bytes));
    return false;
  }
  if (!rt_.charge(text.size()) || !rt_.step_bytes(text.size())) return false;
  out_->append(text);
  return true;
}

bool Interpreter::write_value(const Value& value) {
  std::string storage;
  std::string_view text;
  return text_of(rt_, value, storage, text) && write(text);
}

bool Interpreter::assign(const Expr& target, const Value& value) {
  rt_.line = target.line;
  if (target.kind == Expr::Kind::Tuple) return unpack(target, value);
  if (target.kind == Expr::Kind::Name) {
    if (!rt_.charge(sizeof(Value)) ||
        !rt_.step(static_cast<int64_t>(scope_->variables.size() / 16))) {
      return false;
    }
    scope_->set(target.text->view, value);
    return true;
  }
  const Value* const space = scope_->find(target.text->view);
  if (space == nullptr || !space->is(Kind::Namespace)) {
    rt_.fail("cannot assign attribute on non-namespace object");
    return false;
  }
  const Str& member = *target.items[0]->text;
  if (member.view.starts_with('_')) {
    rt_.fail(fmt::format("'{}' cannot be stored on a namespace: it begins with an underscore",
                         member.view));
    return false;
  }
  if (!rt_.charge(kScopeBytes)) return false;
  space->space().set(Value::string(&member), value);
  return true;
}

bool Interpreter::unpack(const Expr& target, const Value& value) {
  std::vector<Value> items;
  if (value.is(Kind::Undefined)) {
    rt_.fail("not enough values to unpack: the value is undefined");
    return false;
  }
  if (!iterate(rt_, value, items)) return false;
  if (items.size() != target.items.size()) {
    rt_.fail(
        fmt::format("cannot unpack {} values into {} names", items.size(), target.items.size()));
    return false;
  }
  for (size_t i = 0; i < items.size(); ++i) {
    if (!assign(*target.items[i], items[i])) return false;
  }
  return true;
}

Interpreter::Flow Interpreter::for_loop(const Stmt& stmt) {
  const Value iterable = evaluate(*stmt.value);
  if (iterable.is(Kind::Failed)) return Flow::Stop;
  std::vector<Value> items;
  rt_.line = stmt.line;
  if (!iterate(rt_, iterable, items)) return Flow::Stop;
  if (stmt.test && !filtered(stmt, items)) return Flow::Stop;
  if (items.empty()) return in_scope(stmt.otherwise);
  return loop_items(stmt, std::move(items));
}

// Keeps the items for which the loop's `if` holds; the loop then counts those only.
bool Interpreter::filtered(const Stmt& stmt, std::vector<Value>& items) {
  std::vector<Value> kept;
  Scope* const outer = scope_;
  for (const Value& item : items) {
    Scope scope{outer, {}};
    scope_ = &scope;
    const bool ok = assign(*stmt.target, item);
    const Value holds = ok ? evaluate(*stmt.test) : Value::failed();
    scope_ = outer;
    if (holds.is(Kind::Failed)) return false;
    if (truthy(holds)) kept.push_back(item);
  }
  items = std::move(kept);
  return true;
}

Interpreter::Flow Interpreter::loop_items(const Stmt& stmt, std::vector<Value> items) {
  Loop* const loop = rt_.make_loop(std::move(items));
  if (loop == nullptr) return Flow::Stop;
  Flow flow = Flow::Next;
  for (const Value& item : loop->items) {
    ++loop->index0;
    // Each turn has variables of its own: what one sets, the next does not see.
    const Inner inner(*this, scope_);
    if (inner.ok()) scope_->set("loop", Value::loop(loop));
    flow = inner.ok() && assign(*stmt.target, item) ? execute(stmt.body) : Flow::Stop;
    if (flow == Flow::Break || flow == Flow::Stop) break;
  }
  return flow == Flow::Stop ? flow : Flow::Next;
}

Interpreter::Flow Interpreter::if_else(const Stmt& stmt) {
  for (const auto& [test, body] : stmt.branches) {
    const Value value = evaluate(*test);
    if (value.is(Kind::Failed)) return Flow::Stop;
    if (truthy(value)) return execute(body);
  }
  return execute(stmt.otherwise);
}

Interpreter::Flow Interpreter::in_scope(const Body& body) {
  if (body.empty()) return Flow::Next;
  const Inner inner(*this, scope_);
  return inner.ok() ? execute(body) : Flow::Stop;
}

Interpreter::Flow Interpreter::capture(const Body& body, Value& captured) {
  std::string buffer;
  std::string* const outer = out_;
  out_ = &buffer;
  const Flow flow = in_scope(body);
  out_ = outer;
  if (flow == Flow::Next) captured = rt_.str(std::move(buffer));
  return captured.is(Kind::Failed) ? Flow::Stop : flow;
}

Interpreter::Flow Interpreter::set_block(const Stmt& stmt) {
  Value text;
  const Flow flow = capture(stmt.body, text);
  if (flow != Flow::Next) return flow;
  if (stmt.value) text = filter(*stmt.value, &text);
  return !text.is(Kind::Failed) && assign(*stmt.target, text) ? Flow::Next : Flow::Stop;
}

Interpreter::Flow Interpreter::with(const Stmt& stmt) {
  std::vector<Value> values;
  for (const auto& [target, expr] : stmt.bindings) {
    values.push_back(evaluate(*expr));
    if (values.back().is(Kind::Failed)) return Flow::Stop;
  }
  const Inner inner(*this, scope_);
  bool ok = inner.ok();
  for (size_t i = 0; ok && i < values.size(); ++i) ok = assign(*stmt.bindings[i].first, values[i]);
  return ok ? execute(stmt.body) : Flow::Stop;
}

Interpreter::Flow Interpreter::filter_block(const Stmt& stmt) {
  Value text;
  const Flow flow = capture(stmt.body, text);
  if (flow != Flow::Next) return flow;
  text = filter(*stmt.value, &text);
  return !text.is(Kind::Failed) && write_value(text) ? Flow::Next : Flow::Stop;
}

Interpreter::Flow Interpreter::generation(const Stmt& stmt) {
  Value text;
  if (capture(stmt.body, text) != Flow::Next) return Flow::Stop;
  if (spans_.size() >= kMaxSpans) {
    rt_.exhausted(fmt::format("more than {} generation blocks", kMaxSpans));
    return Flow::Stop;
  }
  spans_.push_back({root_.size(), root_.size() + text.text().size()});
  return write(text.text()) ? Flow::Next : Flow::Stop;
}

Value Interpreter::make_macro(const Stmt& stmt) {
  if (!rt_.charge(kScopeBytes)) return Value::failed();
  return Value::macro(&macros_.emplace_back(MacroValue{stmt.signature.get(), &stmt.body, scope_}));
}

Interpreter::Flow Interpreter::call_block(const Stmt& stmt) {
  const Value caller = make_macro(stmt);
  const Value callee = caller.is(Kind::Failed) ? caller : evaluate(*stmt.value->items[0]);
  if (callee.is(Kind::Failed)) return Flow::Stop;
  CallArgs args;
  if (callee.is(Kind::Method)) args.args.push_back(callee.method().self);
  if (!arguments(*stmt.value->args, args)) return Flow::Stop;
  args.keywords.emplace_back("caller", caller);
  rt_.line = stmt.line;
  const Value text = call_value(callee, args);
  return !text.is(Kind::Failed) && write_value(text) ? Flow::Next : Flow::Stop;
}

Value Interpreter::call_macro(const MacroValue& macro, CallArgs& args) {
  const int line = rt_.line;
  const Inner inner(*this, macro.scope);
  Value text = Value::failed();
  if (inner.ok() && bind_parameters(macro, args)) {
    std::string buffer;
    std::string* const outer_text = out_;
    out_ = &buffer;
    const Flow flow = execute(*macro.body);
    out_ = outer_text;
    if (flow == Flow::Next) text = rt_.str(std::move(buffer));
  }
  if (!text.is(Kind::Failed)) rt_.line = line;
  return text;
}

bool Interpreter::bind_parameters(const MacroValue& macro, CallArgs& args) {
  const Signature& signature = *macro.signature;
  const size_t count = signature.parameters.size();
  const auto take_keyword = [&](std::string_view name, Value& value) {
    const auto at = std::find_if(args.keywords.begin(), args.keywords.end(),
                                 [&](const auto& keyword) { return keyword.first == name; });
    if (at == args.keywords.end()) return false;
    value = at->second;
    args.keywords.erase(at);
    return true;
  };
  for (size_t i = 0; i < count; ++i) {
    const std::string& name = signature.parameters[i];
    const size_t defaults_from = count - signature.defaults.size();
    Value value;
    if (i < args.args.size()) {
      value = args.args[i];
    } else if (!take_keyword(name, value)) {
      value = i >= defaults_from
                  ? evaluate(*signature.defaults[i - defaults_from])
                  : rt_.undefined(fmt::format("parameter '{}' was not provided", name));
    }
    if (value.is(Kind::Failed)) return false;
    scope_->set(name, value);
  }
  const bool own_caller = std::find(signature.parameters.begin(), signature.parameters.end(),
                                    "caller") != signature.parameters.end();
  if (signature.takes_caller && !own_caller) {
    Value caller;
    if (!take_keyword("caller", caller)) caller = rt_.undefined("No caller defined");
    scope_->set("caller", caller);
  }
  if (signature.takes_kwargs) {
    Dict rest;
    for (const auto& [key, value] : args.keywords) {
      const Value name = rt_.str(std::string(key));
      if (name.is(Kind::Failed)) return false;
      rest.set(name, value);
    }
    const Value dict = rt_.dict(std::move(rest));
    if (dict.is(Kind::Failed)) return false;
    scope_->set("kwargs", dict);
  } else if (!args.keywords.empty()) {
    rt_.fail(fmt::format("macro '{}' takes no keyword argument '{}'", signature.name,
                         args.keywords[0].first));
    return false;
  }
  if (signature.takes_varargs) {
    const size_t from = std::min(count, args.args.size());
    const Value rest =
        rt_.tuple({args.args.begin() + static_cast<ptrdiff_t>(from), args.args.end()});
    if (rest.is(Kind::Failed)) return false;
    scope_->set("varargs", rest);
  } else if (args.args.size() > count) {
    rt_.fail(fmt::format("macro '{}' takes not more than {} argument(s)", signature.name, count));
    return false;
  }
  return true;
}

}  // namespace sluice::jinja
