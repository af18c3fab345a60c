#pragma once
#include "models/tokenizer/vocabulary.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Remembers the ids of words: a fixed number of slots, a newer word takes the slot of an older
/// one. Words of up to 16 bytes lie in one cache line each with up to 11 ids. Not for two threads
/// at once.
class WordCache {
 public:
  static constexpr size_t kShort = 16;
  static constexpr size_t kLongest = 128;
  static constexpr size_t kMaxIds = 11;

  /// A word of at most kShort bytes as two zero-padded integers.
  struct Key {
    uint64_t low;
    uint64_t high;
    size_t length;
    [[nodiscard]] size_t slot() const { return mix(low ^ length, high) >> (64 - kShortBits); }
  };
  /// `text_end`: nothing at or behind it may be read.
  static Key key_of(std::string_view word, const char* text_end);

  struct Entry {
    uint64_t low = 0;
    uint64_t high = 0;
    uint16_t length = 0;  ///< 0: free
    uint16_t count = 0;
    std::array<TokenId, kMaxIds> ids{};
  };

  WordCache() : short_(size_t{1} << kShortBits), long_(size_t{1} << kLongBits) {}

  /// Null when it is not remembered.
  [[nodiscard]] const Entry* find(const Key& key) const {
    const Entry& e = short_[key.slot()];
    return e.low == key.low && e.high == key.high && e.length == key.length ? &e : nullptr;
  }
  void put(const Key& key, const TokenId* ids, size_t count);

  /// The same for words of kShort < size <= kLongest.
  [[nodiscard]] const std::vector<TokenId>* find_long(std::string_view word) const;
  void put_long(std::string_view word, const TokenId* ids, size_t count);

 private:
  static constexpr int kShortBits = 14;
  static constexpr int kLongBits = 11;
  struct LongEntry {
    std::string word;
    std::vector<TokenId> ids;
  };
  std::vector<Entry> short_;
  std::vector<LongEntry> long_;
};

inline WordCache::Key WordCache::key_of(std::string_view word, const char* text_end) {
  const char* p = word.data();
  const size_t n = word.size();
  if (text_end - p >= 16) {
    // Whole loads and masks: no branch on the length.
    const uint64_t low = load_word(p, 8);
    const uint64_t high = load_word(p + 8, 8);
    const uint64_t low_mask = n >= 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * n)) - 1;
    const uint64_t high_mask = n >= 16  ? ~uint64_t{0}
                               : n <= 8 ? 0
                                        : (uint64_t{1} << (8 * (n - 8))) - 1;
    return {low & low_mask, high & high_mask, n};
  }
  const size_t first = n < 8 ? n : 8;
  return {load_word(p, first), load_word(p + first, n - first), n};
}

}  // namespace sluice
