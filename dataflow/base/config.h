#pragma once
#include "dataflow/base/result.h"

#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace sluice {

/// Inclusive bounds of a configuration value.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  static Range at_least(double low) { return {low, std::numeric_limits<double>::infinity()}; }
  static Range between(double low, double high) { return {low, high}; }
};

/// Gives names, documentation and limits to the members of plain structs, and sets them from TOML
/// files and "key=value" texts. The structs stay plain: they name their members in one method,
///
///   struct PpoConfig {
///     double gamma = 0.99;
///     void bind(ConfigBinder& b) {
///       b.field("gamma", gamma, "discount per step", Range::between(0, 1));
///     }
///   };
///
/// and the binder holds pointers to them: it must not outlive what it was bound to. Every way in
/// (C++, file, flag) ends in the same typed, range-checked assignment, and every refusal names the
/// key, where the value came from, what is allowed, and for an unknown key the nearest known ones.
class ConfigBinder {
 public:
  void field(std::string key, bool& value, std::string doc);
  void field(std::string key, int64_t& value, std::string doc, Range range = {});
  void field(std::string key, double& value, std::string doc, Range range = {});
  /// A text; with `choices`, one of them.
  void field(std::string key, std::string& value, std::string doc,
             std::vector<std::string> choices = {});
  /// A list of whole numbers, written [64, 64] or 64,64; `range` is that of each element.
  void field(std::string key, std::vector<int64_t>& value, std::string doc, Range range = {});
  /// One of named values of an enum: {{"tanh", Activation::Tanh}, ...}.
  template <class E>
  requires std::is_enum_v<E>
  void field(std::string key, E& value, std::string doc,
             std::vector<std::pair<std::string, E>> names);

  /// Binds a nested struct under "key.".
  template <class C>
  void section(const std::string& key, C& config) {
    const size_t before = enter(key);
    config.bind(*this);
    prefix_.resize(before);
  }

  /// Sets one value from text. `origin` says where it came from, for messages: "--set",
  /// "a.toml:12". A refused text leaves the value as it was. Whole numbers may be written 1_000_000
  /// or 1e6; NaN is refused everywhere.
  Status set(std::string_view key, std::string_view text, std::string_view origin);
  /// "key=value".
  Status set(std::string_view assignment, std::string_view origin);
  /// Sets every value of a TOML file; goes on after an error and reports all of them, one a line,
  /// in the order of the file. NotFound when there is no such file.
  Status load_toml(const std::string& path);
  /// Range check of the values that were set in C++; all problems, one a line.
  [[nodiscard]] Status check() const;

  /// From now on keys that are not known are passed over instead of refused: for a first pass over
  /// sources that also hold the keys of something not built yet.
  void skip_unknown() { skip_unknown_ = true; }

  [[nodiscard]] bool knows(std::string_view key) const;
  [[nodiscard]] std::vector<std::string> keys() const;
  /// All values as a TOML document that load_toml reads back to the same values, doubles bit for
  /// bit. Keys stand in sections, under their documentation.
  [[nodiscard]] std::string to_toml() const;
  /// The same for some keys only.
  [[nodiscard]] std::string to_toml(
      const std::function<bool(const std::string& key)>& wanted) const;
  /// Keys that set() or load_toml() gave a value.
  [[nodiscard]] const std::vector<std::string>& given() const noexcept { return given_; }
  /// One line per key: name, current value, limits, documentation.
  [[nodiscard]] std::string help() const;

 private:
  struct EnumAccess {
    std::function<std::string()> get;
    std::function<void(const std::string&)> set;
  };
  struct Field {
    std::string key;
    std::variant<bool*, int64_t*, double*, std::string*, std::vector<int64_t>*, EnumAccess> target;
    std::string doc;
    Range range;
    std::vector<std::string> choices;
  };

  /// Appends "key." to the prefix and returns the prefix's length before.
  size_t enter(std::string_view key);
  void add(Field field);
  [[nodiscard]] const Field* find(std::string_view key) const;
  [[nodiscard]] Status unknown(std::string_view key) const;
  Status assign(const Field& field, std::string_view text);
  static Status parse(const Field& field, std::string_view text);
  static Status check_value(const Field& field);
  static std::string value_text(const Field& field);
  /// "a whole number in [1, inf)": what may stand there.
  static std::string expected(const Field& field);

  std::string prefix_;
  std::vector<Field> fields_;
  std::vector<std::string> given_;
  bool skip_unknown_ = false;
};

template <class E>
requires std::is_enum_v<E>
void ConfigBinder::field(std::string key, E& value, std::string doc,
                         std::vector<std::pair<std::string, E>> names) {
  std::vector<std::string> choices;
  for (const auto& [text, _] : names) choices.push_back(text);
  EnumAccess access{[&value, names] {
                      for (const auto& [text, v] : names) {
                        if (v == value) return text;
                      }
                      return std::string("?");
                    },
                    [&value, names](const std::string& wanted) {
                      for (const auto& [text, v] : names) {
                        if (text == wanted) value = v;
                      }
                    }};
  add({prefix_ + key, std::move(access), std::move(doc), {}, std::move(choices)});
}

}  // namespace sluice
