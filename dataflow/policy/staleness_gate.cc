#include "dataflow/policy/staleness_gate.h"

namespace sluice {

bool StalenessGate::advance(const VersionTag& current) noexcept {
  if (!current.valid()) return false;
  if (current_.valid() && !newer(current, current_)) return false;
  if (!current_.valid() || current.incarnation != current_.incarnation) {
    predecessor_ = current_;
    start_ = current;
  }
  current_ = current;
  return true;
}

bool StalenessGate::foreign(const VersionTag& tag) const noexcept {
  if (tag.run != current_.run) return true;
  if (tag.incarnation >= current_.incarnation) return false;
  if (predecessor_.valid() && tag.incarnation != predecessor_.incarnation) return true;
  if (tag.step == start_.step) return tag.digest != start_.digest;
  return tag.step > start_.step;
}

Freshness StalenessGate::judge(const VersionSpan& item) const noexcept {
  if (max_ < 0 || !current_.valid() || !item.oldest.valid()) return Freshness::Keep;
  if (foreign(item.oldest) || foreign(item.newest)) return Freshness::DropLineage;
  if (staleness(current_, item) <= max_) return Freshness::Keep;
  return on_stale_ == OnStale::Error ? Freshness::Error : Freshness::Drop;
}

}  // namespace sluice
