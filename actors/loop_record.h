#pragma once
#include "actors/loop.h"
#include "actors/messages.h"
#include "actors/restart_budget.h"

#include <memory>
#include <string>
#include <utility>

namespace sluice {

/// What the supervisor knows of one loop, over all its attempts.
struct LoopRecord {
  explicit LoopRecord(LoopSpec s) : spec(std::move(s)), budget(spec.restart) {}

  [[nodiscard]] bool live() const { return loop != nullptr; }
  [[nodiscard]] bool launched() const { return live() || rest != LoopState::Configured; }
  [[nodiscard]] LoopStatus status() const;

  /// A new attempt begins.
  void begin(std::shared_ptr<Loop> fresh, TimeNs now);
  /// The attempt under way is over; `next` is what the loop is until the next one.
  void retire(LoopState next);
  /// True when the loop has been in one and the same step for `deadline`, seen from these calls.
  bool hangs(const LoopProbe& probe, TimeNs now, TimeNs deadline);

  LoopSpec spec;
  RestartBudget budget;
  std::shared_ptr<Waker> waker = std::make_shared<Waker>();
  std::shared_ptr<Loop> loop;  ///< of the attempt under way
  WorkerControl actor;
  LoopState rest = LoopState::Configured;  ///< while there is none
  int32_t attempt = 0;
  bool made = false;
  int64_t abandoned = 0;
  int64_t steps_before = 0;
  std::string last_error;
  Result<Snapshots> final_state = Snapshots{};

 private:
  uint64_t beats_ = 0;
  TimeNs since_ = 0;  // when beats_ was first seen
};

}  // namespace sluice
