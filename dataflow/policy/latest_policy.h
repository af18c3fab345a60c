#pragma once
#include <cstdint>

namespace sluice {

/// What becomes of answers under way when newer weights arrive.
enum class Swap : uint8_t {
  Drain,     ///< they end with the old weights; nothing new starts meanwhile
  Resume,    ///< they keep what they have, and what was computed for it is computed anew
  InFlight,  ///< they keep both
};

/// Everything a latest-value channel declares.
struct LatestPolicy {
  Swap swap = Swap::Resume;
};

}  // namespace sluice
