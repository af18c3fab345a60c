#pragma once
#include "dataflow/base/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// A JSON document read strictly and kept flat: sixteen bytes for each value and one arena of text,
/// so that a vocabulary of 200,000 entries costs neither a tree of maps nor a string each: that is
/// what sets it apart from models/json/strict_json.h, the reader of the other files of a model, as
/// is the rounding of scores, which decides between segmentations and must be the reference's.
/// Refused: more than `kMaxBytes` of text, nesting deeper than `kMaxDepth`, a key twice in one
/// object, invalid UTF-8, anything that RFC 8259 does not allow.
class JsonDoc {
 public:
  static constexpr size_t kMaxBytes = size_t{64} << 20;
  static constexpr size_t kMaxDepth = 64;

  enum class Kind : uint8_t { Null, Bool, Integer, Unsigned, Real, String, Array, Object };

  /// One value; valid as long as the document is.
  class Value {
   public:
    [[nodiscard]] Kind kind() const { return node().kind; }
    [[nodiscard]] bool is(Kind kind) const { return node().kind == kind; }
    [[nodiscard]] bool is_null() const { return is(Kind::Null); }
    [[nodiscard]] bool boolean() const { return node().data != 0; }
    [[nodiscard]] bool is_number() const {
      return is(Kind::Integer) || is(Kind::Unsigned) || is(Kind::Real);
    }
    [[nodiscard]] int64_t integer() const { return static_cast<int64_t>(node().data); }
    [[nodiscard]] double real() const;
    [[nodiscard]] std::string_view string() const;
    /// Elements of an array, members of an object.
    [[nodiscard]] size_t size() const { return node().size; }
    [[nodiscard]] Value item(size_t i) const;
    [[nodiscard]] std::string_view key(size_t i) const;
    [[nodiscard]] Value member(size_t i) const;

   private:
    friend class JsonDoc;
    friend class JsonDocBuilder;
    struct Node {
      Kind kind = Kind::Null;
      uint32_t size = 0;  ///< length of a string, elements of an array, members of an object
      uint64_t data = 0;  ///< the scalar, or where text or children begin
    };
    Value(const JsonDoc* doc, const Node* node) : doc_(doc), node_(node) {}
    [[nodiscard]] const Node& node() const { return *node_; }
    const JsonDoc* doc_;
    const Node* node_;
  };

  /// `name` stands before every complaint (a file's name).
  static Result<JsonDoc> parse(std::string_view text, std::string_view name);

  [[nodiscard]] Value root() const { return {this, &root_}; }

 private:
  friend class JsonDocBuilder;
  std::string text_;
  std::vector<Value::Node> nodes_;  ///< children of each container lie together; key, value, ...
  Value::Node root_;
};

/// "null", "a boolean", "a number", "a string", "an array", "an object".
[[nodiscard]] std::string_view name(JsonDoc::Kind kind);

}  // namespace sluice
