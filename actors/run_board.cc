#include "actors/run_board.h"

#include <algorithm>

namespace sluice {

void RunBoard::set_outcome(Status outcome) {
  const MutexLock lock(mutex_);
  if (outcome_) return;
  outcome_ = std::move(outcome);
  if (waker_ != nullptr) waker_->wake();
}

std::optional<Status> RunBoard::outcome() const {
  const MutexLock lock(mutex_);
  return outcome_;
}

void RunBoard::set_waker(Waker* waker) {
  const MutexLock lock(mutex_);
  waker_ = waker;
}

void RunBoard::notify() const {
  const MutexLock lock(mutex_);
  if (waker_ != nullptr) waker_->wake();
}

void RunBoard::shelve(int64_t ticket, Snapshots snapshots) {
  const MutexLock lock(mutex_);
  shelf_.clear();  // what nobody fetched in time is worthless now
  shelf_[ticket] = std::move(snapshots);
}

Snapshots RunBoard::take(int64_t ticket) {
  const MutexLock lock(mutex_);
  const auto found = shelf_.find(ticket);
  if (found == shelf_.end()) return {};
  Snapshots snapshots = std::move(found->second);
  shelf_.erase(found);
  return snapshots;
}

void RunBoard::bury(std::shared_ptr<Loop> loop) {
  const MutexLock lock(mutex_);
  graveyard_.push_back(std::move(loop));
}

int64_t RunBoard::stuck() const {
  const MutexLock lock(mutex_);
  return std::count_if(graveyard_.begin(), graveyard_.end(),
                       [](const auto& loop) { return loop->stuck(); });
}

}  // namespace sluice
