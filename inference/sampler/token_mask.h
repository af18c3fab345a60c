#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

/// A set of tokens, one bit each.
class TokenMask {
 public:
  explicit TokenMask(int64_t vocabulary = 0)
      : vocabulary_(vocabulary), words_(static_cast<size_t>((vocabulary + 63) / 64), 0) {}

  void allow(int64_t token) noexcept {
    words_[static_cast<size_t>(token / 64)] |= uint64_t{1} << (token % 64);
  }
  void forbid(int64_t token) noexcept {
    words_[static_cast<size_t>(token / 64)] &= ~(uint64_t{1} << (token % 64));
  }
  /// False for ids outside the vocabulary.
  [[nodiscard]] bool allows(int64_t token) const noexcept {
    return token >= 0 && token < vocabulary_ &&
           (words_[static_cast<size_t>(token / 64)] >> (token % 64) & 1) != 0;
  }
  [[nodiscard]] bool empty() const noexcept {
    return std::all_of(words_.begin(), words_.end(), [](uint64_t word) { return word == 0; });
  }
  [[nodiscard]] int64_t vocabulary() const noexcept { return vocabulary_; }
  /// Token t is bit t % 64 of word t / 64; bits beyond the vocabulary are 0.
  [[nodiscard]] std::span<const uint64_t> words() const noexcept { return words_; }
  bool operator==(const TokenMask&) const = default;

 private:
  int64_t vocabulary_;
  std::vector<uint64_t> words_;
};

}  // namespace sluice
