#pragma once
#include "dataflow/base/result.h"
#include "inference/sampler/constraint/byte_nfa.h"

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace sluice {

/// A deterministic automaton over bytes. From each of its states some text leads to the end: a byte
/// that leads nowhere leads to kDead at once. Immutable.
class ByteDfa {
 public:
  using State = uint32_t;
  static constexpr State kStart = 0;
  static constexpr State kDead = 0xFFFFFFFF;
  static constexpr size_t kMaxStates = 50'000;
  static constexpr size_t kMaxWork = 20'000'000;  ///< states looked at while it is made

  /// By the subset construction, over classes of bytes that no edge tells apart. ResourceExhausted
  /// when it would be too large, InvalidArgument when nothing is accepted.
  static Result<ByteDfa> from(const ByteNfa& nfa, ByteNfa::State accept);

  [[nodiscard]] State next(State state, unsigned char byte) const noexcept {
    return table_[state * classes_ + class_of_[byte]];
  }
  /// kDead when a byte leads nowhere.
  [[nodiscard]] State walk(State state, std::string_view bytes) const noexcept;
  [[nodiscard]] bool accepts(State state) const noexcept { return accepts_[state] != 0; }
  /// Whether any text may follow.
  [[nodiscard]] bool goes_on(State state) const noexcept;
  [[nodiscard]] size_t size() const noexcept { return accepts_.size(); }
  /// Of memory.
  [[nodiscard]] size_t bytes() const noexcept {
    return table_.size() * sizeof(State) + accepts_.size();
  }

 private:
  friend class DfaBuilder;
  std::array<uint8_t, 256> class_of_{};
  size_t classes_ = 0;
  std::vector<State> table_;
  std::vector<uint8_t> accepts_;
};

}  // namespace sluice
