#include "models/io/chat/dict.h"

#include <cmath>
#include <functional>

namespace sluice::jinja {

namespace {

constexpr size_t kIndexFrom = 9;
constexpr int kMaxKeyParts = 1000;

size_t hash_number(double value) { return std::hash<double>()(value == 0 ? 0.0 : value); }

bool hash_into(const Value& key, int& parts, size_t& out) {
  if (--parts < 0) return false;
  switch (key.kind()) {
    case Kind::None:
      out = out * 31 + 7;
      return true;
    case Kind::Bool:
    case Kind::Int:
    case Kind::Float:
      out = out * 31 + hash_number(key.as_double());
      return true;
    case Kind::String:
      out = out * 31 + std::hash<std::string_view>()(key.text());
      return true;
    case Kind::Tuple:
      out = out * 31 + 11;
      for (const Value& item : key.items()) {
        if (!hash_into(item, parts, out)) return false;
      }
      return true;
    default:
      return false;
  }
}

bool keys_equal(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    if (a.is_integral() && b.is_integral()) return a.integer() == b.integer();
    return a.as_double() == b.as_double();
  }
  if (a.kind() != b.kind()) return false;
  if (a.is(Kind::String)) return a.text() == b.text();
  if (a.is(Kind::None)) return true;
  if (!a.is(Kind::Tuple) || a.items().size() != b.items().size()) return false;
  for (size_t i = 0; i < a.items().size(); ++i) {
    if (!keys_equal(a.items()[i], b.items()[i])) return false;
  }
  return true;
}

}  // namespace

std::optional<size_t> Dict::hash(const Value& key) {
  int parts = kMaxKeyParts;
  size_t out = 0;
  if (!hash_into(key, parts, out)) return std::nullopt;
  return out;
}

template <class Equal>
ptrdiff_t Dict::locate(size_t hash, Equal equal) const {
  if (index_.empty()) {
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (equal(entries_[i].first)) return static_cast<ptrdiff_t>(i);
    }
    return -1;
  }
  const auto [first, last] = index_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (equal(entries_[it->second].first)) return static_cast<ptrdiff_t>(it->second);
  }
  return -1;
}

const Value* Dict::find(const Value& key) const {
  const size_t at_hash = index_.empty() ? 0 : hash(key).value_or(0);
  const ptrdiff_t at = locate(at_hash, [&](const Value& other) { return keys_equal(key, other); });
  return at < 0 ? nullptr : &entries_[static_cast<size_t>(at)].second;
}

const Value* Dict::find(std::string_view key) const {
  const size_t at_hash = index_.empty() ? 0 : std::hash<std::string_view>()(key);
  const ptrdiff_t at = locate(
      at_hash, [&](const Value& other) { return other.is(Kind::String) && other.text() == key; });
  return at < 0 ? nullptr : &entries_[static_cast<size_t>(at)].second;
}

void Dict::set(const Value& key, const Value& value) {
  const size_t key_hash = hash(key).value_or(0);
  const ptrdiff_t at = locate(key_hash, [&](const Value& other) { return keys_equal(key, other); });
  if (at >= 0) {
    entries_[static_cast<size_t>(at)].second = value;
    return;
  }
  entries_.emplace_back(key, value);
  if (!index_.empty()) {
    index_.emplace(key_hash, entries_.size() - 1);
  } else if (entries_.size() == kIndexFrom) {
    for (size_t i = 0; i < entries_.size(); ++i) {
      index_.emplace(hash(entries_[i].first).value_or(0), i);
    }
  }
}

}  // namespace sluice::jinja
