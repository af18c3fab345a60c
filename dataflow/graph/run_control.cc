#include "dataflow/graph/run_control.h"

#include <algorithm>
#include <utility>

namespace sluice {

void RunControl::watch(Waker* waker) {
  const MutexLock lock(mutex_);
  watchers_.push_back(waker);
}

void RunControl::wake_watchers() {
  const MutexLock lock(mutex_);
  for (Waker* waker : watchers_) waker->wake();
}

void RunControl::request_stop(std::string_view reason) {
  {
    const MutexLock lock(mutex_);
    if (!stop_.load(std::memory_order_relaxed)) stop_reason_ = reason;
    stop_.store(true, std::memory_order_release);
  }
  wake_watchers();
}

std::string RunControl::stop_reason() const {
  const MutexLock lock(mutex_);
  return stop_reason_;
}

void RunControl::request_checkpoint(int64_t step, Waker* requester) {
  {
    const MutexLock lock(mutex_);
    checkpoint_step_ = std::max(checkpoint_step_, step);
    if (requester != nullptr) requesters_.push_back(requester);
    checkpoint_.store(true, std::memory_order_release);
  }
  wake_watchers();
}

int64_t RunControl::checkpoint_step() const {
  const MutexLock lock(mutex_);
  return checkpoint_step_;
}

void RunControl::checkpoint_done() {
  std::vector<Waker*> requesters;
  {
    const MutexLock lock(mutex_);
    requesters = std::exchange(requesters_, {});
    checkpoint_step_ = -1;
    checkpoint_.store(false, std::memory_order_release);
  }
  for (Waker* waker : requesters) waker->wake();
}

void RunControl::finish() {
  finished_.store(true, std::memory_order_release);
  wake_watchers();
}

void RunControl::report(std::string_view name, double value) {
  const MutexLock lock(mutex_);
  if (const auto it = board_.find(name); it != board_.end()) {
    it->second = value;
  } else {
    board_.emplace(name, value);
  }
}

std::map<std::string, double> RunControl::snapshot() const {
  const MutexLock lock(mutex_);
  return {board_.begin(), board_.end()};
}

std::optional<double> RunControl::value(std::string_view name) const {
  const MutexLock lock(mutex_);
  const auto it = board_.find(name);
  if (it == board_.end()) return std::nullopt;
  return it->second;
}

}  // namespace sluice
