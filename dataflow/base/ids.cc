#include "dataflow/base/ids.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace sluice {

std::string VersionTag::to_string() const {
  return valid() ? fmt::format("v{}.{}-{:08x}", step, incarnation, digest >> 32) : "none";
}

bool newer(const VersionTag& a, const VersionTag& b) noexcept {
  if (a.incarnation != b.incarnation) return a.incarnation > b.incarnation;
  return a.step > b.step;
}

void VersionSpan::cover(const VersionTag& tag) noexcept {
  if (!oldest.valid() || newer(oldest, tag)) oldest = tag;
  if (!newest.valid() || newer(tag, newest)) newest = tag;
}

int64_t staleness(const VersionTag& current, const VersionSpan& item) noexcept {
  return item.oldest.valid() && current.valid() ? current.step - item.oldest.step : 0;
}

uint64_t digest(const void* data, size_t size) noexcept { return XXH3_64bits(data, size); }

}  // namespace sluice
