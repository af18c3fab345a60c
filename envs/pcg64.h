#pragma once
#include <cstdint>

namespace sluice {

/// NumPy's `default_rng(seed)`, so that an environment starts where Gymnasium's does: PCG64, the
/// XSL-RR 128/64 generator of O'Neill, "PCG: A family of simple fast space-efficient statistically
/// good algorithms for random number generation" (HMC-CS-2014-0905), seeded through NumPy's
/// SeedSequence. A value: copying it copies the state, and the copy goes on with the same numbers.
class Pcg64 {
 public:
  /// Everything that decides the coming numbers; four words, to be saved and restored.
  struct State {
    uint64_t high = 0;
    uint64_t low = 0;
    uint64_t increment_high = 0;
    uint64_t increment_low = 0;
    friend bool operator==(const State&, const State&) = default;
  };

  explicit Pcg64(uint64_t seed) noexcept;
  explicit Pcg64(const State& state) noexcept : state_(state) {}

  /// The next 64 bits (`bit_generator.random_raw()`).
  uint64_t next() noexcept;
  /// `Generator.random()`: 53 bits in [0, 1).
  double uniform() noexcept {
    return static_cast<double>(next() >> 11) * (1.0 / 9007199254740992.0);
  }
  /// `Generator.uniform(low, high)`.
  double uniform(double low, double high) noexcept { return low + (high - low) * uniform(); }

  [[nodiscard]] const State& state() const noexcept { return state_; }

 private:
  State state_;
};

}  // namespace sluice
