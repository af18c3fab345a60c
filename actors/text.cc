#include "actors/text.h"

#include <fmt/format.h>

namespace sluice {

std::string duration_text(TimeNs time) {
  if (time % kSecond == 0) return fmt::format("{} s", time / kSecond);
  if (time % kMillisecond == 0) return fmt::format("{} ms", time / kMillisecond);
  if (time % kMicrosecond == 0) return fmt::format("{} us", time / kMicrosecond);
  return fmt::format("{} ns", time);
}

}  // namespace sluice
