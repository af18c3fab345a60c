#include "models/tokenizer/json_doc.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <unordered_set>

namespace sluice {

using Json = nlohmann::json;

namespace {

/// A decimal number as the reference implementation reads it: 64 bits of digits as a double, once
/// multiplied or divided by a power of ten. The last bit may differ from the nearest double, and
/// scores that differ in it decide between segmentations.
double quick_double(std::string_view text) {
  static const std::array<double, 309> powers = [] {
    std::array<double, 309> all{};
    for (size_t i = 0; i < all.size(); ++i) {
      all[i] = std::strtod(fmt::format("1e{}", i).c_str(), nullptr);
    }
    return all;
  }();
  constexpr uint64_t kMost = ~uint64_t{0};
  uint64_t digits = 0;
  int64_t exponent = 0;
  bool full = false;
  bool fraction = false;
  size_t i = text.starts_with('-') ? 1 : 0;
  for (; i < text.size() && text[i] != 'e' && text[i] != 'E'; ++i) {
    if (text[i] == '.') {
      fraction = true;
      continue;
    }
    const auto digit = static_cast<uint64_t>(text[i] - '0');
    full = full || digits > (kMost - digit) / 10;
    if (!full) digits = digits * 10 + digit;
    exponent += (full ? 1 : 0) - (fraction ? 1 : 0);
  }
  if (i < text.size()) {
    const std::string_view rest = text.substr(i + 1);
    // Beyond a few hundred every exponent is zero or infinity.
    const bool negative = rest.starts_with('-');
    int64_t written = 0;
    for (const char c : rest) {
      if (c >= '0' && c <= '9') written = std::min<int64_t>(written * 10 + (c - '0'), 100'000);
    }
    exponent += negative ? -written : written;
  }
  auto value = static_cast<double>(digits);
  while (exponent < -308 && value != 0) {
    value /= 1e308;
    exponent += 308;
  }
  if (value != 0 && exponent > 308) value = std::numeric_limits<double>::infinity();
  if (value != 0 && std::isfinite(value)) {
    value = exponent >= 0 ? value * powers[static_cast<size_t>(exponent)]
                          : value / powers[static_cast<size_t>(-exponent)];
  }
  return text.starts_with('-') ? -value : value;
}

}  // namespace

/// Receives the parser's events. The parser itself keeps no recursion, so depth is bounded here.
class JsonDocBuilder {
 public:
  JsonDocBuilder(JsonDoc* doc, std::string_view name) : doc_(*doc), name_(name) {}

  bool null() { return add({}); }
  bool boolean(bool value) { return add({JsonDoc::Kind::Bool, 0, value ? uint64_t{1} : 0}); }
  bool number_integer(Json::number_integer_t value) {
    return add({JsonDoc::Kind::Integer, 0, static_cast<uint64_t>(value)});
  }
  bool number_unsigned(Json::number_unsigned_t value) {
    return add({JsonDoc::Kind::Unsigned, 0, value});
  }
  bool number_float(Json::number_float_t /*value*/, const Json::string_t& text) {
    return add({JsonDoc::Kind::Real, 0, std::bit_cast<uint64_t>(quick_double(text))});
  }
  bool string(Json::string_t& value) { return add(text(value)); }
  bool binary(Json::binary_t& /*value*/) { return false; }
  bool start_object(size_t /*size*/) { return open(); }
  bool start_array(size_t /*size*/) { return open(); }
  bool end_array() { return close(JsonDoc::Kind::Array, 1); }
  bool key(Json::string_t& value) { return add(text(value)); }

  bool end_object() {
    const size_t first = open_.back();
    // A vocabulary is one object of many keys, most objects have few.
    std::unordered_set<std::string_view> seen;
    seen.reserve((stack_.size() - first) / 2);
    for (size_t i = first; i < stack_.size(); i += 2) {
      const std::string_view k = view(stack_[i]);
      if (seen.insert(k).second) continue;
      status_ = invalid_argument("{}: key \"{}\" stands twice in one object", name_, shown(k));
      return false;
    }
    return close(JsonDoc::Kind::Object, 2);
  }

  bool parse_error(size_t position, const std::string& /*token*/, const Json::exception& e) {
    std::string why = e.what();
    if (const size_t at = why.find("column "); at != std::string::npos) {
      if (const size_t colon = why.find(": ", at); colon != std::string::npos) {
        why = why.substr(colon + 2);
      }
    }
    // The text may quote what it choked on.
    for (char& c : why) c = static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    status_ = invalid_argument("{}: byte {}: not JSON: {}", name_, position, shown(why));
    return false;
  }

  Status take_status() {
    if (!status_.ok()) return status_;
    if (stack_.size() != 1) return invalid_argument("{}: not JSON: empty", name_);
    doc_.root_ = stack_.back();
    return {};
  }

 private:
  using Node = JsonDoc::Value::Node;

  static std::string_view shown(std::string_view text) { return text.substr(0, 200); }

  bool add(const Node& node) {
    stack_.push_back(node);
    return true;
  }
  Node text(const std::string& value) {
    const size_t at = doc_.text_.size();
    doc_.text_ += value;
    return {JsonDoc::Kind::String, static_cast<uint32_t>(value.size()), at};
  }
  std::string_view view(const Node& node) const {
    return std::string_view(doc_.text_).substr(node.data, node.size);
  }
  bool open() {
    if (open_.size() == JsonDoc::kMaxDepth) {
      status_ = invalid_argument("{}: nested deeper than {} levels", name_, JsonDoc::kMaxDepth);
      return false;
    }
    open_.push_back(stack_.size());
    return true;
  }
  bool close(JsonDoc::Kind kind, size_t stride) {
    const size_t first = open_.back();
    open_.pop_back();
    const Node node{kind, static_cast<uint32_t>((stack_.size() - first) / stride),
                    doc_.nodes_.size()};
    doc_.nodes_.insert(doc_.nodes_.end(), stack_.begin() + static_cast<ptrdiff_t>(first),
                       stack_.end());
    stack_.resize(first);
    stack_.push_back(node);
    return true;
  }

  JsonDoc& doc_;
  std::string_view name_;
  Status status_;
  std::vector<Node> stack_;   ///< finished values whose container is still open
  std::vector<size_t> open_;  ///< where each open container's children begin in stack_
};

double JsonDoc::Value::real() const {
  switch (kind()) {
    case Kind::Real:
      return std::bit_cast<double>(node().data);
    case Kind::Integer:
      return static_cast<double>(static_cast<int64_t>(node().data));
    default:
      return static_cast<double>(node().data);
  }
}

std::string_view JsonDoc::Value::string() const {
  return std::string_view(doc_->text_).substr(node().data, node().size);
}

JsonDoc::Value JsonDoc::Value::item(size_t i) const {
  return {doc_, &doc_->nodes_[node().data + i]};
}

std::string_view JsonDoc::Value::key(size_t i) const {
  return Value(doc_, &doc_->nodes_[node().data + 2 * i]).string();
}

JsonDoc::Value JsonDoc::Value::member(size_t i) const {
  return {doc_, &doc_->nodes_[node().data + 2 * i + 1]};
}

Result<JsonDoc> JsonDoc::parse(std::string_view text, std::string_view name) {
  if (text.size() > kMaxBytes) {
    return invalid_argument("{}: {} bytes; at most {} are read", name, text.size(), kMaxBytes);
  }
  JsonDoc doc;
  JsonDocBuilder builder(&doc, name);
  Json::sax_parse(text.begin(), text.end(), &builder, Json::input_format_t::json, /*strict=*/true);
  RETURN_IF_ERROR(builder.take_status());
  return doc;
}

std::string_view name(JsonDoc::Kind kind) {
  switch (kind) {
    case JsonDoc::Kind::Null:
      return "null";
    case JsonDoc::Kind::Bool:
      return "a boolean";
    case JsonDoc::Kind::String:
      return "a string";
    case JsonDoc::Kind::Array:
      return "an array";
    case JsonDoc::Kind::Object:
      return "an object";
    default:
      return "a number";
  }
}

}  // namespace sluice
