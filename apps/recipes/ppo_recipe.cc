#include "apps/recipes/ppo_recipe.h"

#include "envs/registry.h"
#include "workers/evaluator_worker.h"
#include "workers/policy_worker.h"
#include "workers/rollout_worker.h"
#include "workers/trainer_worker.h"

namespace sluice {
namespace {

class PpoRecipe final : public Recipe {
 public:
  [[nodiscard]] std::string_view name() const override { return "ppo"; }
  [[nodiscard]] std::string_view doc() const override {
    return "PPO with a small actor-critic on one environment, strictly on-policy";
  }
  Status choose(std::string_view what, const std::string& env) override {
    if (what != "env") return invalid_argument("ppo has no {} to choose", what);
    RETURN_IF_ERROR(env_spec(env).status());
    settings_ = PpoSettings::for_env(env);
    return {};
  }
  void bind(ConfigBinder& b) override { settings_.bind(b); }
  Result<Program> build() override { return ppo_program(settings_); }

 private:
  PpoSettings settings_ = PpoSettings::for_env("CartPole-v1");
};

}  // namespace

void PpoSettings::bind(ConfigBinder& b) {
  b.field("env", env, "environment, by its registered name");
  b.field("layout", layout, "where inference runs",
          {{"inline", Layout::Inline}, {"seed", Layout::Seed}, {"split", Layout::Split}});
  b.field("replicas", replicas, "rollout replicas", Range::between(1, 4096));
  b.field("envs", envs, "environments per rollout replica", Range::between(1, 1 << 20));
  b.field("horizon", horizon, "steps per chunk", Range::between(1, 1 << 20));
  b.field("threads", threads, "threads of the trainer", Range::between(1, 1024));
  b.field("max_steps", max_steps, "environment steps to train on; 0 = without end",
          Range::at_least(0));
  b.field("checkpoint_every", checkpoint_every, "versions between checkpoints; 0 = only at the end",
          Range::at_least(0));
  b.field("eval_every", eval_every, "versions between evaluations; 0 = never", Range::at_least(0));
  b.field("eval_episodes", eval_episodes, "episodes per evaluation", Range::between(1, 1 << 20));
  b.field("stop_at_target", stop_at_target, "end when an evaluation reaches the target");
  b.field("target", target, "mean evaluation return that ends the run");
  b.section("net", net);
  b.section("ppo", ppo);
}

PpoSettings PpoSettings::for_env(const std::string& env) {
  PpoSettings s;
  s.env = env;
  if (const auto known = env_spec(env); known.ok() && known->reward_threshold) {
    s.target = *known->reward_threshold;
  }
  if (env == "CartPole-v1") {
    s.envs = 64;
    s.horizon = 32;
    s.max_steps = 300'000;
    s.ppo.learning_rate = 2e-3;
    s.ppo.anneal = true;
    s.ppo.gamma = 0.98;
    s.ppo.gae_lambda = 0.8;
    s.ppo.epochs = 10;
    s.ppo.minibatches = 8;
  } else if (env == "Pendulum-v1") {
    s.envs = 32;
    s.horizon = 64;
    s.max_steps = 200'000;
    s.net.normalise_observations = true;
    s.net.initial_log_std = 0.5;  // torques go up to 2: look at all of them first
    s.ppo.normalise_reward = true;
    s.ppo.learning_rate = 1e-3;
    s.ppo.anneal = true;
    s.ppo.gamma = 0.9;
    s.ppo.gae_lambda = 0.95;
    s.ppo.epochs = 10;
    s.ppo.minibatches = 16;
    s.target = -200;
  } else {
    s.max_steps = 1'000'000;
  }
  return s;
}

Result<Program> ppo_program(const PpoSettings& s) {
  // Told once here, not once by every worker.
  RETURN_IF_ERROR(env_spec(s.env).status().with_context("env"));
  const int64_t batch = s.replicas * s.envs;
  Graph g{"ppo"};
  auto act = g.service<Observation, Action>("act").batch(up_to(s.envs * s.replicas));
  auto samples =
      g.stream<Trajectory>("samples").capacity(batch).admit_ahead(0, batch).max_staleness(
          0, OnStale::Wait);
  auto weights = g.latest<Weights>("weights");
  g.add("rollout", Rollout{.env = s.env, .ring = s.envs, .horizon = s.horizon})
      .asks(act)
      .writes(samples);
  g.add("policy", Policy{.env = s.env, .net = s.net}).serves(act).follows(weights);
  g.add("trainer", Trainer{.env = s.env,
                           .net = s.net,
                           .batch = batch,
                           .horizon = s.horizon,
                           .schedule_steps = s.max_steps,
                           .checkpoint_every = s.checkpoint_every,
                           .learner = ppo(s.ppo)})
      .reads(samples)
      .publishes(weights);
  if (s.eval_every > 0) {
    g.add("evaluator", Evaluator{.env = s.env,
                                 .net = s.net,
                                 .every = s.eval_every,
                                 .episodes = s.eval_episodes,
                                 .has_target = s.stop_at_target,
                                 .target = s.target})
        .follows(weights);
  }
  Placement p;
  p.put("rollout", s.replicas);
  p.put("trainer", 1).threads(s.threads);
  if (s.layout == Layout::Inline) p.together("policy", "rollout");
  if (s.layout == Layout::Seed) p.together("policy", "trainer");
  return Program{std::move(g), std::move(p), s.max_steps > 0 ? s.max_steps : -1};
}

std::unique_ptr<Recipe> make_ppo_recipe() { return std::make_unique<PpoRecipe>(); }

}  // namespace sluice
