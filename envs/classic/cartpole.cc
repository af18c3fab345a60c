#include "envs/classic/cartpole.h"

#include "envs/checks.h"
#include "envs/state_blob.h"

#include <cstring>
#include <numbers>

namespace sluice {
namespace {

constexpr const char* kName = "CartPole-v1";
constexpr int64_t kMaxSteps = 500;
constexpr double kGravity = 9.8;
constexpr double kPoleMass = 0.1;
constexpr double kTotalMass = kPoleMass + 1.0;
constexpr double kHalfLength = 0.5;
constexpr double kPoleMassLength = kPoleMass * kHalfLength;
constexpr double kForce = 10.0;
constexpr double kSeconds = 0.02;
constexpr double kMaxTheta = 12 * 2 * std::numbers::pi / 360;
constexpr double kMaxX = 2.4;
constexpr double kStart = 0.05;

struct SinCos {
  double sine;
  double cosine;
};

/// Taylor series for angles up to kMaxTheta, which a running episode never leaves: the terms left
/// out are below 1e-19, so what remains is the rounding of the last operation, half a unit in the
/// last place, as in a good C library. Four times as fast, and the same bits on every machine.
SinCos small_sin_cos(double x) noexcept {
  const double z = x * x;
  const double odd =
      -1.0 / 6 +
      z * (1.0 / 120 + z * (-1.0 / 5040 +
                            z * (1.0 / 362880 + z * (-1.0 / 39916800 + z * (1.0 / 6227020800.0)))));
  const double even =
      1.0 / 24 +
      z * (-1.0 / 720 + z * (1.0 / 40320 + z * (-1.0 / 3628800 + z * (1.0 / 479001600))));
  // The rounding error of 1 - z/2 is added back before the small terms.
  const double half = 0.5 * z;
  const double near_one = 1 - half;
  return {x + x * (z * odd), near_one + (((1 - near_one) - half) + z * z * even)};
}

}  // namespace

const EnvSpec& CartPoleEnv::spec() const noexcept {
  static const EnvSpec spec{
      kName, {TensorSpec{"obs", DType::F32, {4}}}, ActionSpec::discrete(2), kMaxSteps, 475.0};
  return spec;
}

Status CartPoleEnv::reset(std::optional<uint64_t> seed, ObservationOut observation) {
  Pcg64 generator = seed ? Pcg64(*seed) : Pcg64(state_.generator);
  state_.x = generator.uniform(-kStart, kStart);
  state_.x_dot = generator.uniform(-kStart, kStart);
  state_.theta = generator.uniform(-kStart, kStart);
  state_.theta_dot = generator.uniform(-kStart, kStart);
  state_.generator = generator.state();
  state_.steps = 0;
  state_.running = 1;
  observe(observation);
  return {};
}

Status CartPoleEnv::step(const void* action, ObservationOut observation, Transition& out) {
  int64_t choice = 0;
  std::memcpy(&choice, action, sizeof(choice));
  if (state_.running == 0) [[unlikely]]
    return no_episode(kName);
  if (choice != 0 && choice != 1) [[unlikely]]
    return bad_discrete_action(kName, choice, 2);

  // Every operation in Gymnasium's order: rounding decides whether the bits agree.
  auto [x, x_dot, theta, theta_dot, generator, steps, running] = state_;
  const double force = choice == 1 ? kForce : -kForce;
  const auto [sine, cosine] = small_sin_cos(theta);
  const double temp = (force + kPoleMassLength * (theta_dot * theta_dot) * sine) / kTotalMass;
  const double theta_acc = (kGravity * sine - cosine * temp) /
                           (kHalfLength * (4.0 / 3.0 - kPoleMass * (cosine * cosine) / kTotalMass));
  const double x_acc = temp - kPoleMassLength * theta_acc * cosine / kTotalMass;
  x += kSeconds * x_dot;
  x_dot += kSeconds * x_acc;
  theta += kSeconds * theta_dot;
  theta_dot += kSeconds * theta_acc;
  ++steps;

  out.reward = 1;
  out.terminated = x < -kMaxX || x > kMaxX || theta < -kMaxTheta || theta > kMaxTheta;
  out.truncated = steps >= kMaxSteps;
  running = out.terminated || out.truncated ? 0 : 1;
  state_ = {x, x_dot, theta, theta_dot, generator, steps, running};
  observe(observation);
  return {};
}

void CartPoleEnv::observe(ObservationOut observation) const noexcept {
  const float values[] = {static_cast<float>(state_.x), static_cast<float>(state_.x_dot),
                          static_cast<float>(state_.theta), static_cast<float>(state_.theta_dot)};
  std::memcpy(observation[0], values, sizeof(values));
}

std::string CartPoleEnv::save() const { return pack_state(kName, state_); }

Status CartPoleEnv::load(std::string_view state) { return unpack_state(kName, state, state_); }

}  // namespace sluice
