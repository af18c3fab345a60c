#pragma once
#include "envs/env.h"
#include "envs/pcg64.h"

namespace sluice {

/// Gymnasium's Pendulum-v1: swing a pendulum up and hold it with a torque (action float32[1]) that
/// is clipped to [-2, 2]. Reward -(angle^2 + 0.1 speed^2 + 0.001 torque^2) of the state before the
/// step; never terminated, truncated at 200 steps. obs float32[3] = cos and sin of the angle,
/// speed. A seed gives exactly Gymnasium's start state; steps are its arithmetic in its order and
/// precision (float32 for the terms of the torque), so they differ only where sin and cos of the C
/// library do.
class PendulumEnv final : public Env {
 public:
  PendulumEnv() = default;

  [[nodiscard]] const EnvSpec& spec() const noexcept override;
  Status reset(std::optional<uint64_t> seed, ObservationOut observation) override;
  Status step(const void* action, ObservationOut observation, Transition& out) override;
  [[nodiscard]] std::string save() const override;
  Status load(std::string_view state) override;

 private:
  struct State {
    double theta = 0;
    double theta_dot = 0;
    Pcg64::State generator = Pcg64(0).state();
    int64_t steps = 0;
    int64_t running = 0;  // 1 between reset and the end of the episode
  };

  void observe(ObservationOut observation) const noexcept;

  State state_;
};

}  // namespace sluice
