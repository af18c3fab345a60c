#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::jinja {

/// What a value is. Missing is no value at all (an argument not given); Failed says that the
/// evaluation failed, and the Runtime knows why.
enum class Kind : uint8_t {
  Missing,
  Failed,
  Undefined,
  None,
  Bool,
  Int,
  Float,
  String,
  List,
  Tuple,
  Dict,
  Range,
  View,
  Iterator,
  Namespace,
  Loop,
  Macro,
  Function,
  Method,
  Slice
};

class Dict;
struct Iterator;
struct Loop;
struct MacroValue;
struct Method;
struct Range;
struct View;
class Runtime;
struct CallArgs;

/// Immutable text. `view` may look into text that lives as long as the rendering.
struct Str {
  explicit Str(std::string text) : owned(std::move(text)), view(owned) {}
  explicit Str(std::string_view outside) : view(outside) {}
  Str(const Str&) = delete;
  Str& operator=(const Str&) = delete;

  std::string owned;
  std::string_view view;
};

/// A built-in function, filter or test; for the latter two the first argument is the subject.
struct Function {
  using Body = class Value (*)(Runtime&, CallArgs&);
  std::string_view name;
  Body body;
};

struct Seq;

/// A value of the template language: 16 bytes, copied freely; what it points to belongs to the
/// Runtime (or to the template) and lives until the rendering ends, so there are no cycles to
/// break.
class Value {
 public:
  Value() : Value(Kind::Missing) {}
  static Value failed() { return Value(Kind::Failed); }
  static Value none() { return Value(Kind::None); }
  static Value boolean(bool value) { return Value(Kind::Bool, &Value::integer_, int64_t{value}); }
  static Value integer(int64_t value) { return Value(Kind::Int, &Value::integer_, value); }
  static Value real(double value) { return Value(Kind::Float, &Value::real_, value); }
  static Value string(const Str* text) { return Value(Kind::String, &Value::str_, text); }
  static Value list(const Seq* items) { return Value(Kind::List, &Value::seq_, items); }
  static Value tuple(const Seq* items) { return Value(Kind::Tuple, &Value::seq_, items); }
  static Value slice(const Seq* parts) { return Value(Kind::Slice, &Value::seq_, parts); }
  static Value dict(const Dict* dict) { return Value(Kind::Dict, &Value::dict_, dict); }
  static Value range(const Range* range) { return Value(Kind::Range, &Value::range_, range); }
  static Value view(const View* view) { return Value(Kind::View, &Value::view_, view); }
  static Value iterator(Iterator* it) { return Value(Kind::Iterator, &Value::iterator_, it); }
  static Value space(Dict* attributes) {
    return Value(Kind::Namespace, &Value::space_, attributes);
  }
  static Value loop(Loop* loop) { return Value(Kind::Loop, &Value::loop_, loop); }
  static Value macro(const MacroValue* macro) { return Value(Kind::Macro, &Value::macro_, macro); }
  static Value function(const Function* f) { return Value(Kind::Function, &Value::function_, f); }
  static Value method(const Method* m) { return Value(Kind::Method, &Value::method_, m); }
  /// An undefined value. `name` is the name that was looked up on a value of kind `owner` (Missing:
  /// a variable; Failed: `name` is the whole message).
  static Value undefined(const Str* name, Kind owner = Kind::Missing) {
    Value value(Kind::Undefined, &Value::str_, name);
    value.owner_ = owner;
    return value;
  }

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] bool is(Kind kind) const { return kind_ == kind; }
  [[nodiscard]] bool failed_or_missing() const { return kind_ <= Kind::Failed; }
  [[nodiscard]] bool is_number() const { return kind_ >= Kind::Bool && kind_ <= Kind::Float; }
  [[nodiscard]] bool is_integral() const { return kind_ == Kind::Bool || kind_ == Kind::Int; }
  [[nodiscard]] bool is_sequence() const { return kind_ == Kind::List || kind_ == Kind::Tuple; }

  /// Each is for values of its kind only.
  [[nodiscard]] int64_t integer() const { return integer_; }  ///< Bool and Int
  [[nodiscard]] double real() const { return real_; }
  [[nodiscard]] std::string_view text() const { return str_->view; }
  [[nodiscard]] const Str* str() const { return str_; }   ///< String
  [[nodiscard]] const std::vector<Value>& items() const;  ///< List, Tuple and Slice
  [[nodiscard]] const Dict& dict() const { return *dict_; }
  [[nodiscard]] const Range& range() const { return *range_; }
  [[nodiscard]] const View& view() const { return *view_; }
  [[nodiscard]] Iterator& iterator() const { return *iterator_; }
  [[nodiscard]] Dict& space() const { return *space_; }
  [[nodiscard]] Loop& loop() const { return *loop_; }
  [[nodiscard]] const MacroValue& macro() const { return *macro_; }
  [[nodiscard]] const Function& function() const { return *function_; }
  [[nodiscard]] const Method& method() const { return *method_; }
  [[nodiscard]] const Str* undefined_name() const { return str_; }
  [[nodiscard]] Kind undefined_owner() const { return owner_; }

  /// Bool, Int or Float as a double.
  [[nodiscard]] double as_double() const {
    return kind_ == Kind::Float ? real_ : static_cast<double>(integer_);
  }
  /// The same object (or the same small value), as Python's `is`.
  [[nodiscard]] bool same_as(const Value& other) const {
    return kind_ == other.kind_ && integer_ == other.integer_;
  }

 private:
  explicit Value(Kind kind) : kind_(kind) {}
  template <class T, class U>
  Value(Kind kind, T Value::*member, U value) : kind_(kind) {
    this->*member = value;
  }

  Kind kind_;
  Kind owner_ = Kind::Missing;
  union {
    int64_t integer_ = 0;
    double real_;
    const Str* str_;
    const Seq* seq_;
    const Dict* dict_;
    const Range* range_;
    const View* view_;
    Iterator* iterator_;
    Dict* space_;
    Loop* loop_;
    const MacroValue* macro_;
    const Function* function_;
    const Method* method_;
  };
};

/// The items of a list or tuple, or the three parts of a slice.
struct Seq {
  std::vector<Value> items;
};
inline const std::vector<Value>& Value::items() const { return seq_->items; }

/// range(start, stop, step) of `length` numbers.
struct Range {
  int64_t start = 0;
  int64_t stop = 0;
  int64_t step = 1;
  int64_t length = 0;
};

/// What dict.keys(), .values() and .items() give.
struct View {
  enum class What { Keys, Values, Items };
  const Dict* dict = nullptr;
  What what = What::Keys;
};

/// Items that can be walked over once, as a Python generator.
struct Iterator {
  std::vector<Value> items;
  size_t next = 0;
};

/// The `loop` variable.
struct Loop {
  std::vector<Value> items;
  int64_t index0 = -1;
  Value changed;  ///< what loop.changed() saw last
};

/// A method that was looked up on a value: "x.strip".
struct Method {
  Value self;
  const Function* function = nullptr;
};

/// The arguments of a call. For a method args[0] is the value it belongs to.
struct CallArgs {
  std::vector<Value> args;
  std::vector<std::pair<std::string_view, Value>> keywords;
};

/// The name of the kind as Python's type(x).__name__ has it.
[[nodiscard]] std::string_view type_name(Kind kind) noexcept;

}  // namespace sluice::jinja
