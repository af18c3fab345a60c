#pragma once
#include "actors/control_plane.h"
#include "dataflow/base/clock.h"

#include <cstdint>
#include <deque>
#include <optional>

namespace sluice {

/// How often and how fast one loop may be restarted. Pure arithmetic on times it is given.
class RestartBudget {
 public:
  explicit RestartBudget(RestartPolicy policy) : policy_(policy) {}

  /// Counts a failure and says how long to wait before the restart; nothing once more than
  /// `max_restarts` failures lie within the window.
  std::optional<TimeNs> on_failure(TimeNs now);
  /// Failures in the window that ended with the latest failure.
  [[nodiscard]] int64_t recent() const noexcept { return static_cast<int64_t>(failures_.size()); }

 private:
  RestartPolicy policy_;
  std::deque<TimeNs> failures_;
};

}  // namespace sluice
