#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace sluice {

/// Both halves of a 128-bit product folded: every bit of the operands reaches the result.
[[nodiscard]] inline uint64_t mix(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a ^ 0x9E3779B97F4A7C15U) * (b ^ 0xD1B54A32D192ED03U);
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

[[nodiscard]] inline uint64_t load_word(const char* p, size_t n) {
  uint64_t word = 0;
  std::memcpy(&word, p, n);
  return word;
}

[[nodiscard]] inline uint64_t hash_bytes(std::string_view s) {
  uint64_t h = s.size();
  while (s.size() > 16) {
    h = mix(load_word(s.data(), 8) ^ h, load_word(s.data() + 8, 8));
    s.remove_prefix(16);
  }
  const size_t low = s.size() < 8 ? s.size() : 8;
  return mix(load_word(s.data(), low) ^ h, load_word(s.data() + low, s.size() - low));
}

/// Map from a pair of 32-bit numbers to a pair of 32-bit numbers: open addressing in one array of
/// 16-byte slots, at most half full. The key (~0, ~0) is reserved.
class PairTable {
 public:
  struct Value {
    uint32_t rank;
    uint32_t id;
  };

  explicit PairTable(size_t count = 0)
      : slots_(std::bit_ceil(count * 2 + 2)), mask_(slots_.size() - 1) {}

  /// Replaces what was there. There must be room.
  void put(uint32_t left, uint32_t right, Value value) {
    const uint64_t key = key_of(left, right);
    size_t i = mix(key, kSeed) & mask_;
    while (slots_[i].key != kFree && slots_[i].key != key) i = (i + 1) & mask_;
    slots_[i] = {key, value};
  }

  /// Null when absent.
  [[nodiscard]] const Value* find(uint32_t left, uint32_t right) const {
    const uint64_t key = key_of(left, right);
    for (size_t i = mix(key, kSeed) & mask_;; i = (i + 1) & mask_) {
      if (slots_[i].key == key) return &slots_[i].value;
      if (slots_[i].key == kFree) return nullptr;
    }
  }

 private:
  static constexpr uint64_t kFree = ~uint64_t{0};
  static constexpr uint64_t kSeed = 0xA0761D6478BD642FU;
  struct Slot {
    uint64_t key = kFree;
    Value value{0, 0};
  };
  static uint64_t key_of(uint32_t left, uint32_t right) {
    return static_cast<uint64_t>(left) << 32 | right;
  }
  std::vector<Slot> slots_;
  size_t mask_;
};

}  // namespace sluice
