#pragma once
#include "dataflow/base/ids.h"
#include "dataflow/policy/stream_policy.h"

#include <cstdint>
#include <vector>

namespace sluice {

/// What is to be done with an item.
enum class Freshness : uint8_t {
  Keep,
  Drop,         ///< too old
  DropLineage,  ///< made by a version that is not an ancestor of the current one
  Error,        ///< too old, and the stream says that this must not happen
};

/// Judges items against the version the consumer trains now. Steps of different incarnations do not
/// compare: an item of an earlier incarnation is kept only when its versions are ancestors of the
/// current one, that is, when no later incarnation started from a step before them (or at the same
/// step, from other bytes). What cannot be known is not an ancestor: items of other runs, and of
/// incarnations more than one before the first one seen. Pure.
class StalenessGate {
 public:
  /// `max_staleness` < 0: no item of the same lineage is too old.
  StalenessGate(int64_t max_staleness, OnStale on_stale) noexcept
      : max_(max_staleness), on_stale_(on_stale) {}

  /// False, and nothing changes, unless `current` is newer than what was.
  bool advance(const VersionTag& current) noexcept;
  [[nodiscard]] Freshness judge(const VersionSpan& item) const noexcept;
  [[nodiscard]] const VersionTag& current() const noexcept { return current_; }

 private:
  [[nodiscard]] bool foreign(const VersionTag& tag) const noexcept;

  int64_t max_;
  OnStale on_stale_;
  VersionTag current_;
  std::vector<VersionTag> starts_;  // first version seen of each incarnation
};

}  // namespace sluice
