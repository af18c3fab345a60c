#include "models/json/strict_json.h"

#include <nlohmann/json.hpp>

#include <type_traits>
#include <utility>
#include <vector>

namespace sluice {
namespace {

constexpr size_t kMaxOrderedKeys = 10'000;

/// Builds the value as nlohmann's own handler does, and refuses what that one lets pass.
template <class Json>
class StrictBuilder {
 public:
  explicit StrictBuilder(const JsonLimits& limits) : limits_(limits) {}

  // NOLINTBEGIN(readability-identifier-naming): the names are nlohmann's.
  bool null() { return add(nullptr) != nullptr; }
  bool boolean(bool value) { return add(value) != nullptr; }
  bool number_integer(typename Json::number_integer_t value) { return add(value) != nullptr; }
  bool number_unsigned(typename Json::number_unsigned_t value) { return add(value) != nullptr; }
  bool number_float(typename Json::number_float_t value, const std::string&) {
    return add(value) != nullptr;
  }
  bool string(std::string& value) { return add(std::move(value)) != nullptr; }
  bool binary(typename Json::binary_t&) { return fail("binary value"); }
  bool start_object(size_t) { return open(Json::object()); }
  bool start_array(size_t) { return open(Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    auto& object = open_.back()->template get_ref<typename Json::object_t&>();
    // Objects in order are searched from end to end.
    if (std::is_same_v<Json, nlohmann::ordered_json> && object.size() >= kMaxOrderedKeys) {
      return fail(fmt::format("an object of more than {} keys", kMaxOrderedKeys));
    }
    const auto [at, fresh] = object.emplace(name, nullptr);
    if (!fresh) return fail(fmt::format("duplicate key '{}'", name));
    slot_ = &at->second;
    return true;
  }
  bool parse_error(size_t position, const std::string& token, const nlohmann::detail::exception&) {
    return fail(fmt::format("not JSON: unexpected '{}' at byte {}", printable(token), position));
  }
  // NOLINTEND(readability-identifier-naming)

  Json value;
  std::string problem;

 private:
  bool fail(std::string what) {
    if (problem.empty()) problem = std::move(what);
    return false;
  }

  static std::string printable(const std::string& token) {
    std::string out;
    for (const char c : token.substr(token.size() > 24 ? token.size() - 24 : 0)) {
      out += c >= ' ' && c < 0x7f ? c : '?';
    }
    return out;
  }

  template <class T>
  Json* add(T&& part) {
    if (open_.empty()) {
      value = std::forward<T>(part);
      return &value;
    }
    if (open_.back()->is_array()) {
      auto& items = open_.back()->template get_ref<typename Json::array_t&>();
      items.emplace_back(std::forward<T>(part));
      return &items.back();
    }
    *slot_ = std::forward<T>(part);
    return slot_;
  }

  bool open(Json part) {
    if (open_.size() >= limits_.max_depth) {
      return fail(fmt::format("nested deeper than {} levels", limits_.max_depth));
    }
    open_.push_back(add(std::move(part)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  JsonLimits limits_;
  // Stable: an array grows only at its back, while none of its earlier items is open.
  std::vector<Json*> open_;
  Json* slot_ = nullptr;
};

template <class Json>
Result<Json> parse(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.max_bytes) {
    return error(Code::ResourceExhausted, "{} bytes of JSON are above the limit {}", text.size(),
                 limits.max_bytes);
  }
  if (const size_t bad = find_invalid_utf8(text); bad != std::string_view::npos) {
    return invalid_argument("not UTF-8 at byte {}", bad);
  }
  StrictBuilder<Json> builder(limits);
  if (!Json::sax_parse(text.begin(), text.end(), &builder)) {
    return one_line(invalid_argument("{}", builder.problem));
  }
  return std::move(builder.value);
}

}  // namespace

size_t find_invalid_utf8(std::string_view text) noexcept {
  const auto* s = reinterpret_cast<const unsigned char*>(text.data());
  const size_t n = text.size();
  for (size_t i = 0; i < n;) {
    const unsigned char c = s[i];
    if (c < 0x80) {
      ++i;
      continue;
    }
    size_t length = 0;
    uint32_t least = 0;
    uint32_t code = 0;
    if ((c & 0xe0) == 0xc0) {
      length = 2, least = 0x80, code = c & 0x1f;
    } else if ((c & 0xf0) == 0xe0) {
      length = 3, least = 0x800, code = c & 0x0f;
    } else if ((c & 0xf8) == 0xf0) {
      length = 4, least = 0x10000, code = c & 0x07;
    } else {
      return i;
    }
    if (length > n - i) return i;
    for (size_t k = 1; k < length; ++k) {
      if ((s[i + k] & 0xc0) != 0x80) return i;
      code = code << 6 | (s[i + k] & 0x3f);
    }
    if (code < least || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return i;
    i += length;
  }
  return std::string_view::npos;
}

Status one_line(const Status& status) {
  std::string text = status.message();
  bool clean = true;
  for (char& c : text) {
    if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) continue;
    c = '?';
    clean = false;
  }
  return clean ? status : error(status.code(), "{}", text);
}

Result<nlohmann::json> parse_json(std::string_view text, const JsonLimits& limits) {
  return parse<nlohmann::json>(text, limits);
}

Result<nlohmann::ordered_json> parse_ordered_json(std::string_view text, const JsonLimits& limits) {
  return parse<nlohmann::ordered_json>(text, limits);
}

}  // namespace sluice
