#include "envs/classic/pendulum.h"

#include "envs/checks.h"
#include "envs/state_blob.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

namespace sluice {
namespace {

constexpr const char* kName = "Pendulum-v1";
constexpr int64_t kMaxSteps = 200;
constexpr double kMaxSpeed = 8;
constexpr float kMaxTorque = 2;
constexpr double kSeconds = 0.05;
constexpr double kPi = std::numbers::pi;

/// Python's ((angle + pi) % (2 pi)) - pi: fmod, moved to the sign of the divisor.
double normalize(double angle) {
  double wrapped = std::fmod(angle + kPi, 2 * kPi);
  if (wrapped < 0) wrapped += 2 * kPi;
  return wrapped - kPi;
}

}  // namespace

const EnvSpec& PendulumEnv::spec() const noexcept {
  static const EnvSpec spec{kName,
                            {TensorSpec{"obs", DType::F32, {3}}},
                            ActionSpec::box({1}, -kMaxTorque, kMaxTorque),
                            kMaxSteps,
                            std::nullopt};
  return spec;
}

Status PendulumEnv::reset(std::optional<uint64_t> seed, ObservationOut observation) {
  Pcg64 generator = seed ? Pcg64(*seed) : Pcg64(state_.generator);
  state_.theta = generator.uniform(-kPi, kPi);
  state_.theta_dot = generator.uniform(-1, 1);
  state_.generator = generator.state();
  state_.steps = 0;
  state_.running = 1;
  observe(observation);
  return {};
}

Status PendulumEnv::step(const void* action, ObservationOut observation, Transition& out) {
  float torque = 0;
  std::memcpy(&torque, action, sizeof(torque));
  if (state_.running == 0) [[unlikely]]
    return no_episode(kName);
  if (!std::isfinite(torque)) [[unlikely]]
    return bad_box_action(kName, 0, torque);

  // Gymnasium's torque is a NumPy float32, and a Python number does not widen it: its terms are
  // rounded to float32 before they meet the doubles.
  torque = std::clamp(torque, -kMaxTorque, kMaxTorque);
  const float torque_cost = 0.001F * (torque * torque);
  const float torque_acc = 3.0F * torque;
  const double angle = normalize(state_.theta);
  const double cost =
      angle * angle + 0.1 * (state_.theta_dot * state_.theta_dot) + double{torque_cost};
  const double speed =
      state_.theta_dot + (15.0 * std::sin(state_.theta) + double{torque_acc}) * kSeconds;
  state_.theta_dot = std::clamp(speed, -kMaxSpeed, kMaxSpeed);
  state_.theta += state_.theta_dot * kSeconds;
  ++state_.steps;

  out.reward = static_cast<float>(-cost);
  out.terminated = false;
  out.truncated = state_.steps >= kMaxSteps;
  state_.running = out.truncated ? 0 : 1;
  observe(observation);
  return {};
}

void PendulumEnv::observe(ObservationOut observation) const noexcept {
  const float values[] = {static_cast<float>(std::cos(state_.theta)),
                          static_cast<float>(std::sin(state_.theta)),
                          static_cast<float>(state_.theta_dot)};
  std::memcpy(observation[0], values, sizeof(values));
}

std::string PendulumEnv::save() const { return pack_state(kName, state_); }

Status PendulumEnv::load(std::string_view state) { return unpack_state(kName, state, state_); }

}  // namespace sluice
