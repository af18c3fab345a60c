#pragma once
#include "models/io/chat/runtime.h"

#include <array>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

namespace sluice::jinja {

/// The arguments of a call put to the parameters of a built-in function: positional ones first,
/// then by name. A parameter named "" takes no keyword. Wrong arguments fail the runtime.
class BoundArgs {
 public:
  BoundArgs(Runtime& rt, const CallArgs& call, std::string_view function,
            std::initializer_list<std::string_view> parameters, size_t required);

  [[nodiscard]] bool ok() const { return ok_; }
  /// Missing when it was not given.
  [[nodiscard]] const Value& operator[](size_t i) const { return values_[i]; }
  [[nodiscard]] bool given(size_t i) const { return !values_[i].is(Kind::Missing); }
  /// Neither Missing nor None.
  [[nodiscard]] bool has(size_t i) const { return given(i) && !values_[i].is(Kind::None); }

  /// The argument as an integer, text or truth value; `out` keeps its value when it was not given.
  /// False, with the runtime failed, when it is something else.
  [[nodiscard]] bool integer(size_t i, int64_t& out);
  [[nodiscard]] bool text(size_t i, std::string_view& out);
  [[nodiscard]] bool flag(size_t i, bool otherwise) const;
  /// str(argument), whatever it is.
  [[nodiscard]] bool as_text(size_t i, std::string_view& out);

 private:
  static constexpr size_t kMax = 6;
  Runtime& rt_;
  std::string_view function_;
  std::array<Value, kMax> values_;
  std::array<std::string, kMax> storage_;
  bool ok_ = true;
};

}  // namespace sluice::jinja
