#pragma once
#include "dataflow/base/mutex.h"
#include "dataflow/base/waker.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// What the workers of one run and whoever runs it (launcher, signal handler, progress line) tell
/// each other. Every method may be called from any thread; none blocks for longer than a short
/// lock. The constant facts about the run are set before the first worker is made.
class RunControl {
 public:
  struct Info {
    uint64_t run = 0;          ///< VersionTag::run
    uint32_t incarnation = 0;  ///< VersionTag::incarnation
    std::string directory;     ///< where files go; empty = write none
    int64_t max_steps = -1;    ///< environment steps to train on; -1 = no limit
  };

  RunControl() = default;
  explicit RunControl(Info info) : info_(std::move(info)) {}

  [[nodiscard]] uint64_t run() const noexcept { return info_.run; }
  [[nodiscard]] uint32_t incarnation() const noexcept { return info_.incarnation; }
  [[nodiscard]] const std::string& directory() const noexcept { return info_.directory; }
  [[nodiscard]] int64_t max_steps() const noexcept { return info_.max_steps; }

  /// Woken by every request below: the launcher's own waker. It must outlive the run.
  void watch(Waker* waker);

  /// Asks that the run drains and ends. The first reason is kept.
  void request_stop(std::string_view reason);
  [[nodiscard]] bool stop_requested() const noexcept {
    return stop_.load(std::memory_order_acquire);
  }
  /// Empty before request_stop().
  [[nodiscard]] std::string stop_reason() const;

  /// A worker (the trainer, between two steps) asks that the whole run is saved as of `step`; it
  /// then idles until checkpoint_done() wakes `requester` (may be null). Of two requests at once
  /// the later step is kept, and both requesters are woken.
  void request_checkpoint(int64_t step, Waker* requester);
  [[nodiscard]] bool checkpoint_pending() const noexcept {
    return checkpoint_.load(std::memory_order_acquire);
  }
  /// Step of the pending checkpoint, or -1.
  [[nodiscard]] int64_t checkpoint_step() const;
  /// The launcher has written (or given up) the pending checkpoint.
  void checkpoint_done();

  /// The run has reached its goal (max_steps): it drains and ends as a success.
  void finish();
  [[nodiscard]] bool finished() const noexcept { return finished_.load(std::memory_order_acquire); }

  /// Puts a number on the board that the progress line and metrics.jsonl show: report("reward",
  /// 21.5). Not for the hot loop: it takes a lock.
  void report(std::string_view name, double value);
  [[nodiscard]] std::map<std::string, double> snapshot() const;
  [[nodiscard]] std::optional<double> value(std::string_view name) const;

 private:
  void wake_watchers();

  const Info info_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> checkpoint_{false};
  std::atomic<bool> finished_{false};

  mutable Mutex mutex_;
  std::vector<Waker*> watchers_ SLUICE_GUARDED_BY(mutex_);
  std::string stop_reason_ SLUICE_GUARDED_BY(mutex_);
  int64_t checkpoint_step_ SLUICE_GUARDED_BY(mutex_) = -1;
  std::vector<Waker*> requesters_ SLUICE_GUARDED_BY(mutex_);
  std::map<std::string, double, std::less<>> board_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice
