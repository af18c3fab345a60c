#pragma once
#include "dataflow/base/ids.h"
#include "dataflow/policy/stream_policy.h"

#include <cstdint>

namespace sluice {

/// What is to be done with an item.
enum class Freshness : uint8_t {
  Keep,
  Drop,         ///< too old
  DropLineage,  ///< made by a version that is not an ancestor of the current one
  Error,        ///< too old, and the stream says that this must not happen
};

/// Judges items against the version the consumer trains now. Steps of different incarnations do not
/// compare: an item of the incarnation before is kept only when its newest version was before the
/// one the new incarnation started from (or is that one, by digest); items of other runs and of
/// still older incarnations never are. Pure.
class StalenessGate {
 public:
  /// `max_staleness` < 0 keeps everything.
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
  VersionTag start_;        // first version seen of the current incarnation
  VersionTag predecessor_;  // last version seen of the incarnation before
};

}  // namespace sluice
