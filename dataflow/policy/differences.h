#pragma once
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace sluice {

/// Collects the fields in which two plain structs differ, with both values, for a message.
class Differences {
 public:
  template <class T>
  void field(std::string_view name, const T& a, const T& b) {
    if (a != b) found_.push_back(fmt::format("{} {} and {}", name, a, b));
  }
  /// Of an enum; `text` names a value.
  template <class E, class F>
  requires std::is_enum_v<E>
  void field(std::string_view name, E a, E b, F text) {
    if (a != b) found_.push_back(fmt::format("{} {} and {}", name, text(a), text(b)));
  }
  [[nodiscard]] std::vector<std::string> take() { return std::move(found_); }

 private:
  std::vector<std::string> found_;
};

}  // namespace sluice
