#pragma once
#include "actors/loop.h"
#include "dataflow/base/metrics.h"
#include "dataflow/base/mutex.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// What the thread of a loop and its LoopHost share. The thread keeps it alive, so an abandoned
/// thread finds everything it may still touch in here.
class LoopCore {
 public:
  LoopCore(const LoopSpec& spec, const ControlOptions& options, std::shared_ptr<Waker> waker);

  /// The body of the thread. Returns when the loop has ended; parks for good when orphaned.
  void run(int attempt);

  // The rest is called by the host.
  void listen(LoopListener* listener);
  void set_paused(bool paused);
  void request_save(int64_t ticket);
  void request_drain();
  void request_stop();
  /// False when the loop had ended already.
  bool abandon();
  /// The run's objects go away: an abandoned thread must not even clean up from now on.
  void orphan();
  [[nodiscard]] bool abandoned() const { return life() != Life::Attached; }
  [[nodiscard]] bool stuck() const { return life() == Life::Abandoned; }
  [[nodiscard]] LoopProbe probe() const;
  [[nodiscard]] std::string whereabouts() const;
  Result<Snapshots> take_saved(int64_t ticket);
  Result<Snapshots> take_final();
  void report_end(const Status& status);
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  enum class Life : int { Attached, Abandoned, CleaningUp, Gone, Orphaned };
  struct Slot {
    std::string name;
    std::unique_ptr<Worker> worker;  // null once finished
    Counter* counter = nullptr;
    int64_t steps = 0;
    int64_t counted = 0;  // of `steps`, already in the counter
  };
  struct Commands {
    bool pause = false;
    bool drain = false;
    bool stop = false;
    std::vector<int64_t> tickets;
  };
  /// What other threads may know of a slot; stays when its worker goes.
  struct Station {
    std::string worker;
    std::shared_ptr<const Whereabouts> where;
  };
  enum class Next : uint8_t { Step, End };

  Status run_workers(int attempt);
  Status make(int attempt);
  Result<Next> obey();
  Result<bool> round(TimeNs& until);
  Status finish(Slot& slot);
  void save(int64_t ticket);
  void wait(Waker::Epoch seen, TimeNs until);
  void sample(TimeNs now);
  void flush();
  void set_state(LoopState state);
  void call_attention();
  void end(Status status);
  [[nodiscard]] Life life() const { return life_.load(std::memory_order_acquire); }
  [[nodiscard]] std::string where(std::string_view what) const;

  const std::string name_;
  const decltype(LoopSpec::make) make_;
  const ControlOptions options_;
  const std::shared_ptr<Waker> waker_;
  const bool real_time_;

  // Loop thread only.
  std::vector<Slot> slots_;
  Snapshots final_;  // of finished workers
  Status final_status_;
  const Slot* current_slot_ = nullptr;
  bool drained_ = false;
  bool paused_ = false;
  TimeNs mark_ = 0;
  int64_t stride_ = 1;
  int64_t until_sample_ = 1;
  TimeNs flushed_busy_ = 0;
  TimeNs flushed_idle_ = 0;

  // Written by the loop thread, read by anyone.
  std::atomic<LoopState> state_{LoopState::Configured};
  std::atomic<bool> stepping_{false};
  std::atomic<uint64_t> beats_{0};
  std::atomic<int64_t> steps_{0};
  std::atomic<int64_t> current_{0};
  std::atomic<size_t> station_{0};
  std::atomic<bool> hopeless_{false};
  std::atomic<TimeNs> busy_{0};
  std::atomic<TimeNs> idle_{0};

  std::atomic<bool> attention_{false};  // obey() has something to do
  std::atomic<Life> life_{Life::Attached};

  // The border: everything outside is touched under this lock, after a look at life_.
  mutable Mutex mutex_;
  LoopListener* listener_ SLUICE_GUARDED_BY(mutex_) = nullptr;
  Commands commands_ SLUICE_GUARDED_BY(mutex_);
  int64_t saved_ticket_ SLUICE_GUARDED_BY(mutex_) = 0;
  Result<Snapshots> saved_ SLUICE_GUARDED_BY(mutex_) = Snapshots{};
  // Set by a good end.
  std::optional<Result<Snapshots>> ended_with_ SLUICE_GUARDED_BY(mutex_);
  std::vector<Station> stations_ SLUICE_GUARDED_BY(mutex_);  // one per slot
  DoubleCounter* busy_seconds_;
  DoubleCounter* idle_seconds_;
  Gauge* state_gauge_;
};

}  // namespace sluice
