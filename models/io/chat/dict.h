#pragma once
#include "models/io/chat/value.h"

#include <cstddef>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sluice::jinja {

/// A dict in insertion order. Keys are equal as in Python: 1, 1.0 and True are one key.
class Dict {
 public:
  using Entry = std::pair<Value, Value>;

  /// The hash of a key; nothing when it cannot be one (lists, dicts, undefined, huge tuples).
  [[nodiscard]] static std::optional<size_t> hash(const Value& key);

  /// `key` has a hash.
  [[nodiscard]] const Value* find(const Value& key) const;
  [[nodiscard]] const Value* find(std::string_view key) const;
  /// Keeps the place of a key that is there. `key` has a hash.
  void set(const Value& key, const Value& value);

  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  [[nodiscard]] size_t size() const { return entries_.size(); }
  void reserve(size_t entries) { entries_.reserve(entries); }

 private:
  template <class Equal>
  [[nodiscard]] ptrdiff_t locate(size_t hash, Equal equal) const;

  std::vector<Entry> entries_;
  std::unordered_multimap<size_t, size_t> index_;  // hash -> entry, once there are several
};

}  // namespace sluice::jinja
