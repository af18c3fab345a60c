#pragma once
#include "envs/env.h"

namespace sluice {

/// Costs nothing and never ends: obs float32[32] of zeros, 4 discrete actions, reward 0. What a
/// benchmark measures with it is everything but the environment.
class NullEnv final : public Env {
 public:
  NullEnv() = default;

  [[nodiscard]] const EnvSpec& spec() const noexcept override;
  Status reset(std::optional<uint64_t> seed, ObservationOut observation) override;
  Status step(const void* action, ObservationOut observation, Transition& out) override;
  [[nodiscard]] std::string save() const override;
  Status load(std::string_view state) override;

 private:
  int64_t running_ = 0;  // 1 after the first reset
};

}  // namespace sluice
