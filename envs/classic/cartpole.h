#pragma once
#include "envs/env.h"
#include "envs/pcg64.h"

namespace sluice {

/// Gymnasium's CartPole-v1: keep a pole upright on a cart by pushing left (0) or right (1). Reward
/// 1 per step, the last one included; terminated when the cart leaves +-2.4 or the pole +-12
/// degrees; truncated at 500 steps. obs float32[4] = cart position and speed, pole angle and speed.
/// Barto, Sutton, Anderson, "Neuronlike adaptive elements that can solve difficult learning control
/// problems" (IEEE SMC 13, 1983); equations of motion after Florian, "Correct equations for the
/// dynamics of the cart-pole system" (2005). A seed gives exactly Gymnasium's start state; steps
/// are its double arithmetic in its order, so they differ only where sin and cos of the C library
/// do.
class CartPoleEnv final : public Env {
 public:
  CartPoleEnv() = default;

  [[nodiscard]] const EnvSpec& spec() const noexcept override;
  Status reset(std::optional<uint64_t> seed, ObservationOut observation) override;
  Status step(const void* action, ObservationOut observation, Transition& out) override;
  [[nodiscard]] std::string save() const override;
  Status load(std::string_view state) override;

 private:
  struct State {
    double x = 0;
    double x_dot = 0;
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
