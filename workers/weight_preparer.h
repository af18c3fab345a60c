#pragma once
#include "dataflow/base/mailbox.h"
#include "dataflow/base/result.h"
#include "dataflow/base/waker.h"
#include "inference/engine/engine.h"

#include <atomic>
#include <functional>
#include <optional>
#include <thread>

namespace sluice {

/// A thread that prepares weights for an engine while the engine steps, one version at a time, and
/// frees those that no longer serve: neither takes a step's time. All calls but the thread's own
/// from the one that steps the engine.
///
///   preparer.start([&] { return engine.prepare_weights(weights); });
///   ... if (auto ready = preparer.take()) engine.swap_weights(*std::move(*ready), version, mode);
class WeightPreparer {
 public:
  using Task = std::function<Result<PreparedWeights>()>;

  WeightPreparer();
  /// stop().
  ~WeightPreparer();
  WeightPreparer(const WeightPreparer&) = delete;
  WeightPreparer& operator=(const WeightPreparer&) = delete;

  /// Begins a task; none may be pending. LibTorch's exceptions become a status.
  void start(Task task);
  /// Started, and not taken yet.
  [[nodiscard]] bool pending() const noexcept { return pending_; }
  /// What the task gave, once it is done.
  std::optional<Result<PreparedWeights>> take();
  /// Waits for that until `deadline` (RealClock).
  void wait(TimeNs deadline);
  /// Any thread.
  void free(PreparedWeights weights);
  /// Waits for the task under way; later calls have no effect.
  void stop();

 private:
  void run();

  Waker own_;  ///< of the thread
  Waker reader_;
  Mailbox<std::function<void()>> jobs_;
  Mailbox<Result<PreparedWeights>> done_;
  std::atomic<bool> stopping_{false};
  bool pending_ = false;
  std::thread thread_;
};

}  // namespace sluice
