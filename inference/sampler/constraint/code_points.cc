#include "inference/sampler/constraint/code_points.h"

#include <algorithm>

namespace sluice {
namespace {
constexpr uint32_t kFirstSurrogate = 0xD800, kLastSurrogate = 0xDFFF;
}

void CodePoints::add(uint32_t first, uint32_t last) {
  if (first < kFirstSurrogate && last >= kFirstSurrogate) {
    add(first, kFirstSurrogate - 1);
    if (last > kLastSurrogate) add(kLastSurrogate + 1, last);
    return;
  }
  if (first >= kFirstSurrogate && first <= kLastSurrogate) first = kLastSurrogate + 1;
  last = std::min(last, kLast);
  if (first > last) return;
  // All that touch the new range become part of it.
  auto begin = ranges_.begin();
  while (begin != ranges_.end() && begin->second + 1 < first) ++begin;
  auto end = begin;
  for (; end != ranges_.end() && end->first <= last + 1; ++end) {
    first = std::min(first, end->first);
    last = std::max(last, end->second);
  }
  begin = ranges_.erase(begin, end);
  ranges_.insert(begin, {first, last});
}

void CodePoints::add(const CodePoints& other) {
  for (const auto& [first, last] : other.ranges_) add(first, last);
}

CodePoints CodePoints::inverted() const {
  CodePoints out;
  uint32_t next = 0;
  for (const auto& [first, last] : ranges_) {
    if (first > next) out.add(next, first - 1);
    next = last + 1;
  }
  if (next <= kLast) out.add(next, kLast);
  return out;
}

CodePoints CodePoints::without(const CodePoints& other) const { return common(other.inverted()); }

CodePoints CodePoints::common(const CodePoints& other) const {
  CodePoints out;
  for (const auto& [a, b] : ranges_) {
    for (const auto& [c, d] : other.ranges_) {
      if (std::max(a, c) <= std::min(b, d)) out.add(std::max(a, c), std::min(b, d));
    }
  }
  return out;
}

}  // namespace sluice
