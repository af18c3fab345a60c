#include "actors/restart_budget.h"

#include <algorithm>

namespace sluice {

std::optional<TimeNs> RestartBudget::on_failure(TimeNs now) {
  while (!failures_.empty() && now - failures_.front() >= policy_.within) failures_.pop_front();
  failures_.push_back(now);
  if (recent() > policy_.max_restarts) return std::nullopt;
  TimeNs delay = policy_.backoff;
  for (int64_t i = 1; i < recent() && delay < policy_.max_backoff; ++i) {
    delay = delay > policy_.max_backoff / 2 ? policy_.max_backoff : 2 * delay;
  }
  return std::min(delay, policy_.max_backoff);
}

}  // namespace sluice
