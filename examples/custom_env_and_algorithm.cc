// An environment and a loss of your own, in a program of your own: an actor-critic learns to catch
// a falling ball, and the run ends when it catches nearly every one.
#include "apps/run/run.h"
#include "dataflow/flow.h"
#include "envs/checks.h"
#include "envs/pcg64.h"
#include "envs/registry.h"
#include "envs/state_blob.h"
#include "workers/actor_critic_learner.h"
#include "workers/evaluator_worker.h"
#include "workers/policy_worker.h"
#include "workers/rollout_worker.h"
#include "workers/trainer_worker.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

using namespace sluice;

namespace {

constexpr int64_t kWidth = 7;
constexpr int64_t kHeight = 9;

/// A ball falls through a grid of 7 x 9; the paddle at the bottom moves left, stays or moves right.
/// Reward 1 for a catch and -1 for a miss, at the end. obs float32[3] = ball's column and row,
/// paddle's column, all from -1 to 1.
class Catch final : public Env {
 public:
  [[nodiscard]] const EnvSpec& spec() const noexcept override { return spec_; }

  Status reset(std::optional<uint64_t> seed, ObservationOut observation) override {
    Pcg64 generator = seed ? Pcg64(*seed) : Pcg64(state_.generator);
    state_ = {.ball = static_cast<int64_t>(generator.next() % kWidth),
              .paddle = static_cast<int64_t>(generator.next() % kWidth),
              .running = 1};
    state_.generator = generator.state();
    observe(observation);
    return {};
  }

  Status step(const void* action, ObservationOut observation, Transition& out) override {
    int64_t choice = 0;
    std::memcpy(&choice, action, sizeof(choice));
    if (state_.running == 0) return no_episode(spec_.name);
    if (choice < 0 || choice > 2) return bad_discrete_action(spec_.name, choice, 3);
    state_.paddle = std::clamp<int64_t>(state_.paddle + choice - 1, 0, kWidth - 1);
    ++state_.row;
    out = {};
    out.terminated = state_.row == kHeight - 1;
    if (out.terminated) out.reward = state_.paddle == state_.ball ? 1.0F : -1.0F;
    state_.running = out.terminated ? 0 : 1;
    observe(observation);
    return {};
  }

  [[nodiscard]] std::string save() const override { return pack_state(spec_.name, state_); }
  Status load(std::string_view bytes) override { return unpack_state(spec_.name, bytes, state_); }

 private:
  struct State {
    int64_t ball = 0;
    int64_t row = 0;
    int64_t paddle = 0;
    int64_t running = 0;
    Pcg64::State generator = Pcg64(0).state();
  };

  void observe(ObservationOut observation) const noexcept {
    const auto scaled = [](int64_t at, int64_t size) {
      return 2.0F * static_cast<float>(at) / static_cast<float>(size - 1) - 1.0F;
    };
    const float values[] = {scaled(state_.ball, kWidth), scaled(state_.row, kHeight),
                            scaled(state_.paddle, kWidth)};
    std::memcpy(observation[0], values, sizeof(values));
  }

  EnvSpec spec_{"Catch-v0", {{"obs", DType::F32, {3}}}, ActionSpec::discrete(3), 0, std::nullopt};
  State state_;
};

// [loss]
/// Advantage actor-critic (Mnih et al., 2016, arXiv 1602.01783, section 4 and algorithm S3):
///   loss = -log pi(a|s) A + c_v (V(s) - R)^2 / 2 - c_e H(pi(.|s)), means over the rows.
class ActorCriticLoss final : public Algorithm {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "a2c"; }

  [[nodiscard]] Loss loss(const TensorMap& outputs, const TensorMap& minibatch) override {
    const at::Tensor log_probs = at::log_softmax(outputs.at("logits"), -1);  // [N, A]
    const at::Tensor action = minibatch.at("action").unsqueeze(-1);          // [N, 1]
    const at::Tensor chosen = log_probs.gather(-1, action).squeeze(-1);      // [N]
    const at::Tensor policy = -(chosen * minibatch.at("advantage")).mean();
    const at::Tensor value =
        (outputs.at("value") - minibatch.at("return")).square().mean() * 0.5;  // [N] -> []
    const at::Tensor entropy = -(log_probs.exp() * log_probs).sum(-1).mean();
    return {policy + 0.5 * value - 0.01 * entropy,
            {{"policy_loss", policy.item<double>()},
             {"value_loss", value.item<double>()},
             {"entropy", entropy.item<double>()}}};
  }
};
// [/loss]

Graph catch_graph() {
  // [with_algorithm]
  // Discounting, minibatches, gradient clipping and Adam are those of ppo(); the loss is ours.
  // One pass over a batch: without PPO's clipping, a second one would use stale advantages.
  const PpoConfig update{.epochs = 1, .minibatches = 4, .learning_rate = 3e-3};
  const LearnerFactory a2c =
      with_algorithm([] { return std::make_unique<ActorCriticLoss>(); }, update);
  // [/with_algorithm]

  Graph g{"catch"};
  auto act = g.service<Observation, Action>("act").batch(up_to(32), within(1ms));
  auto samples = g.stream<Trajectory>("samples").capacity(32).admit_ahead(0, 32);
  auto weights = g.latest<Weights>("weights");
  g.add("rollout", Rollout{.env = "Catch-v0", .ring = 32, .horizon = 16}).asks(act).writes(samples);
  g.add("policy", Policy{.env = "Catch-v0"}).serves(act).follows(weights);
  g.add("trainer", Trainer{.env = "Catch-v0", .batch = 32, .horizon = 16, .learner = a2c})
      .reads(samples)
      .publishes(weights);
  g.add("evaluator",
        Evaluator{.env = "Catch-v0", .episodes = 100, .has_target = true, .target = 0.95})
      .follows(weights);
  return g;
}

}  // namespace

// [main]
int main(int argc, char** argv) {
  const Status known = register_env("Catch-v0", [] { return std::make_unique<Catch>(); });
  if (!known.ok()) {
    std::fprintf(stderr, "error: %s\n", known.message().c_str());
    return 2;
  }
  Placement placement;
  placement.together("policy", "rollout");
  return run(catch_graph(), std::move(placement), argc, argv);
}
// [/main]
