#include "models/io/chat/runtime.h"

#include "models/io/chat/lexer.h"

#include <utility>

namespace sluice::jinja {

namespace {
constexpr size_t kObjectBytes = 64;  // what a value costs beside its content
}

Value Runtime::fail(std::string_view message) {
  if (status_.ok()) status_ = error_at(Code::InvalidArgument, line, message);
  return Value::failed();
}

Value Runtime::exhausted(std::string_view what) {
  if (status_.ok()) status_ = error_at(Code::ResourceExhausted, line, what);
  return Value::failed();
}

bool Runtime::out_of_steps() {
  exhausted(fmt::format("more than {} steps", limits_.max_steps));
  return false;
}

bool Runtime::charge(size_t bytes) {
  if (bytes > limits_.max_memory_bytes - memory_) {
    exhausted(fmt::format("more than {} bytes of memory", limits_.max_memory_bytes));
    return false;
  }
  memory_ += bytes;
  return true;
}

bool Runtime::charge_items(int64_t count, size_t size) {
  size_t bytes = 0;
  if (count < 0 || __builtin_mul_overflow(static_cast<size_t>(count), size, &bytes)) {
    bytes = SIZE_MAX;
  }
  return charge(bytes);
}

Value Runtime::str(std::string text) {
  if (text.size() > limits_.max_output_bytes) {
    return exhausted(fmt::format("a text of more than {} bytes", limits_.max_output_bytes));
  }
  if (!charge(kObjectBytes + text.size()) || !step_bytes(text.size())) return Value::failed();
  return Value::string(&strings_.emplace_back(std::move(text)));
}

Value Runtime::str_view(std::string_view outside) {
  if (!charge(kObjectBytes)) return Value::failed();
  return Value::string(&strings_.emplace_back(outside));
}

Value Runtime::seq(std::vector<Value> items, Value (*make)(const Seq*)) {
  if (!charge(kObjectBytes + items.size() * sizeof(Value)) || !step()) return Value::failed();
  return make(&seqs_.emplace_back(Seq{std::move(items)}));
}

Value Runtime::list(std::vector<Value> items) { return seq(std::move(items), &Value::list); }
Value Runtime::tuple(std::vector<Value> items) { return seq(std::move(items), &Value::tuple); }
Value Runtime::slice(Value start, Value stop, Value step) {
  return seq({start, stop, step}, &Value::slice);
}

Value Runtime::dict(Dict dict) {
  if (!charge(2 * kObjectBytes + dict.size() * 96)) return Value::failed();
  return Value::dict(&dicts_.emplace_back(std::move(dict)));
}

Value Runtime::space(Dict attributes) {
  if (!charge(2 * kObjectBytes + attributes.size() * 96)) return Value::failed();
  return Value::space(&dicts_.emplace_back(std::move(attributes)));
}

Value Runtime::range(int64_t start, int64_t stop, int64_t step, int64_t length) {
  if (!charge(kObjectBytes)) return Value::failed();
  return Value::range(&ranges_.emplace_back(Range{start, stop, step, length}));
}

Value Runtime::view(const Dict& dict, View::What what) {
  if (!charge(kObjectBytes)) return Value::failed();
  return Value::view(&views_.emplace_back(View{&dict, what}));
}

Value Runtime::iterator(std::vector<Value> items) {
  if (!charge(kObjectBytes + items.size() * sizeof(Value))) return Value::failed();
  return Value::iterator(&iterators_.emplace_back(Iterator{std::move(items), 0}));
}

Value Runtime::method(Value self, const Function* function) {
  if (!charge(kObjectBytes)) return Value::failed();
  return Value::method(&methods_.emplace_back(Method{self, function}));
}

Value Runtime::undefined(std::string message) {
  if (!charge(kObjectBytes + message.size())) return Value::failed();
  return Value::undefined(&strings_.emplace_back(std::move(message)), Kind::Failed);
}

Value Runtime::fail_undefined(const Value& undefined) {
  const Str* const name = undefined.undefined_name();
  const std::string_view text = name == nullptr ? "a value" : name->view;
  if (undefined.undefined_owner() == Kind::Failed) return fail(text);
  if (undefined.undefined_owner() == Kind::Missing)
    return fail(fmt::format("'{}' is undefined", text));
  return fail(fmt::format("'{}' object has no attribute '{}'",
                          type_name(undefined.undefined_owner()), text));
}

Loop* Runtime::make_loop(std::vector<Value> items) {
  if (!charge(kObjectBytes + items.size() * sizeof(Value))) return nullptr;
  return &loops_.emplace_back(Loop{std::move(items), -1, Value()});
}

std::string_view type_name(Kind kind) noexcept {
  switch (kind) {
    case Kind::Undefined:
      return "Undefined";
    case Kind::None:
      return "NoneType";
    case Kind::Bool:
      return "bool";
    case Kind::Int:
      return "int";
    case Kind::Float:
      return "float";
    case Kind::String:
      return "str";
    case Kind::List:
      return "list";
    case Kind::Tuple:
      return "tuple";
    case Kind::Dict:
      return "dict";
    case Kind::Range:
      return "range";
    case Kind::View:
      return "dict view";
    case Kind::Iterator:
      return "generator";
    case Kind::Namespace:
      return "namespace";
    case Kind::Loop:
      return "LoopContext";
    case Kind::Macro:
      return "Macro";
    case Kind::Slice:
      return "slice";
    default:
      return "function";
  }
}

}  // namespace sluice::jinja
