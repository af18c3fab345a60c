#include "dataflow/policy/staleness_gate.h"

namespace sluice {

bool StalenessGate::advance(const VersionTag& current) noexcept {
  if (!current.valid()) return false;
  if (current_.valid() && !newer(current, current_)) return false;
  if (!current_.valid() || current.incarnation != current_.incarnation) starts_.push_back(current);
  current_ = current;
  return true;
}

bool StalenessGate::foreign(const VersionTag& tag) const noexcept {
  if (tag.run != current_.run) return true;
  if (tag.incarnation >= current_.incarnation) return false;
  bool known = false;
  for (const VersionTag& start : starts_) {
    known = known || start.incarnation == tag.incarnation;
    if (start.incarnation <= tag.incarnation || tag.step < start.step) continue;
    if (tag.step > start.step || tag.digest != start.digest) return true;
  }
  return !known && tag.incarnation + 1 != starts_.front().incarnation;
}

Freshness StalenessGate::judge(const VersionSpan& item) const noexcept {
  if (!current_.valid() || !item.oldest.valid()) return Freshness::Keep;
  if (foreign(item.oldest) || foreign(item.newest)) return Freshness::DropLineage;
  if (max_ < 0 || staleness(current_, item) <= max_) return Freshness::Keep;
  return on_stale_ == OnStale::Error ? Freshness::Error : Freshness::Drop;
}

}  // namespace sluice
