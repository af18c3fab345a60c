#include "dataflow/base/clock.h"

#include <chrono>

namespace sluice {

TimeNs RealClock::now() const noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

RealClock& RealClock::instance() noexcept {
  static RealClock clock;
  return clock;
}

}  // namespace sluice
