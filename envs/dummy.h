#pragma once
#include "envs/env.h"
#include "envs/pcg64.h"

namespace sluice {

/// The environment to copy: count to a target. A walker starts at 0, the target is one of -5..5
/// without 0; action 0 steps down, 1 up. Reward 1 and terminated at the target, else -0.1;
/// truncated at 50 steps. obs float32[4] = position, target, way to go, share of the time used.
///
/// To make your own: copy dummy.{h,cc}, rename, and change what is marked with 1 to 5. Then add one
/// line to the table in registry.cc: the contract test of all environments covers it from then on.
class DummyEnv final : public Env {
 public:
  explicit DummyEnv(std::string name = "dummy");

  [[nodiscard]] const EnvSpec& spec() const noexcept override { return spec_; }
  Status reset(std::optional<uint64_t> seed, ObservationOut observation) override;
  Status step(const void* action, ObservationOut observation, Transition& out) override;
  [[nodiscard]] std::string save() const override;
  Status load(std::string_view state) override;

 private:
  // [state]
  /// 1. All that changes from step to step, in 8-byte numbers only: save() writes it as it is.
  struct State {
    int64_t position = 0;
    int64_t target = 0;
    Pcg64::State generator = Pcg64(0).state();
    int64_t steps = 0;
    int64_t running = 0;  // 1 between reset and the end of the episode
  };
  // [/state]

  void observe(ObservationOut observation) const noexcept;

  EnvSpec spec_;
  State state_;
};

}  // namespace sluice
