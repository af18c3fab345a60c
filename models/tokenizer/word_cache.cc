#include "models/tokenizer/word_cache.h"

#include <algorithm>

namespace sluice {

void WordCache::put(const Key& key, const TokenId* ids, size_t count) {
  if (count > kMaxIds) return;
  Entry& e = short_[key.slot()];
  e.low = key.low;
  e.high = key.high;
  e.length = static_cast<uint16_t>(key.length);
  e.count = static_cast<uint16_t>(count);
  std::copy_n(ids, count, e.ids.begin());
}

const std::vector<TokenId>* WordCache::find_long(std::string_view word) const {
  const LongEntry& e = long_[hash_bytes(word) & (long_.size() - 1)];
  return e.word == word ? &e.ids : nullptr;
}

void WordCache::put_long(std::string_view word, const TokenId* ids, size_t count) {
  LongEntry& e = long_[hash_bytes(word) & (long_.size() - 1)];
  e.word = word;
  e.ids.assign(ids, ids + count);
}

}  // namespace sluice
