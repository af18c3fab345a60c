#pragma once
#include "dataflow/base/result.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace sluice {

/// Reads the members of a JSON object one by one, strictly: a member of another type, out of its
/// type's range, or that nobody asked for is a fault. null counts as absent. The first fault is
/// kept; what it concerns stays as it was.
class BodyFields {
 public:
  /// `where` stands before names in messages ("stream_options.").
  explicit BodyFields(const nlohmann::json& object, std::string where = {});

  /// The member, or null when it is absent.
  const nlohmann::json* find(const char* name);
  void read(const char* name, bool& out);
  void read(const char* name, std::string& out);
  template <class T>
  requires std::is_integral_v<T>
  void read(const char* name, T& out) {
    int64_t value = 0;
    if (!integer(name, std::numeric_limits<T>::min(), most<T>(), value)) return;
    out = static_cast<T>(value);
  }
  void read(const char* name, float& out);
  template <class T>
  void read(const char* name, std::optional<T>& out) {
    if (find(name) == nullptr) return;
    T value{};
    read(name, value);
    out = std::move(value);
  }
  /// A list of whole numbers.
  void read(const char* name, std::vector<int64_t>& out);
  /// One string or a list of them.
  void read_texts(const char* name, std::vector<std::string>& out);
  /// Known, and of no consequence here.
  void ignore(std::initializer_list<const char*> names);
  /// Known, but only this value is supported.
  void only(const char* name, const nlohmann::json& value);

  void require(bool fine, const std::string& otherwise);
  /// InvalidArgument for the first fault, or for the first member that was not asked for.
  [[nodiscard]] Status status() const;

 private:
  template <class T>
  static constexpr int64_t most() {
    if constexpr (std::is_same_v<T, uint64_t>) return std::numeric_limits<int64_t>::max();
    return static_cast<int64_t>(std::numeric_limits<T>::max());
  }
  bool integer(const char* name, int64_t least, int64_t most, int64_t& out);
  void wrong_type(const char* name, const char* expected, const nlohmann::json& value);

  const nlohmann::json& object_;
  std::string where_;
  std::vector<std::string> known_;
  Status fault_;
};

/// "a string", "an array", ...
[[nodiscard]] std::string_view json_kind(const nlohmann::json& value);

}  // namespace sluice
