#pragma once
// For tests of loops: a worker made of functions.
#include "actors/control_plane.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

class ScriptedWorker final : public Worker {
 public:
  using Step = std::function<Result<StepResult>(int64_t step, bool draining)>;
  using Save = std::function<Status()>;
  explicit ScriptedWorker(Step step, Save save = nullptr)
      : step_(std::move(step)), save_(std::move(save)) {}

  Result<StepResult> step() override {
    ++steps_;
    return step_(steps_, draining());
  }
  Status save(Snapshot& out) const override {
    out.put_value("steps", steps_);
    return save_ ? save_() : Status();
  }

 private:
  Step step_;
  Save save_;
  int64_t steps_ = 0;
};

/// LoopSpec::make for a loop with one such worker.
inline decltype(LoopSpec::make) one_worker(std::string name, ScriptedWorker::Step step,
                                           ScriptedWorker::Save save = nullptr) {
  return [name, step, save](Waker&, int) -> Result<std::vector<HostedWorker>> {
    std::vector<HostedWorker> workers;
    workers.push_back({name, std::make_unique<ScriptedWorker>(step, save)});
    return workers;
  };
}

}  // namespace sluice
