#pragma once
#include "actors/loop.h"
#include "dataflow/base/mutex.h"

#include <memory>
#include <optional>
#include <vector>

namespace sluice {

/// What the supervisor shows to the main thread of its process without being asked. Any thread.
class RunBoard {
 public:
  /// The first outcome stays.
  void set_outcome(Status outcome);
  [[nodiscard]] std::optional<Status> outcome() const;
  void set_waker(Waker* waker);
  void notify() const;

  void shelve(int64_t ticket, Snapshots snapshots);
  Snapshots take(int64_t ticket);

  /// Keeps an abandoned loop, so that its thread's return can still be noticed.
  void bury(std::shared_ptr<Loop> loop);
  [[nodiscard]] int64_t stuck() const;

 private:
  mutable Mutex mutex_;
  std::optional<Status> outcome_ SLUICE_GUARDED_BY(mutex_);
  Waker* waker_ SLUICE_GUARDED_BY(mutex_) = nullptr;
  std::map<int64_t, Snapshots> shelf_ SLUICE_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<Loop>> graveyard_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice
