// PPO learns CartPole; the run ends when an evaluation reaches a mean return of 475.
#include "apps/run/run.h"
#include "dataflow/flow.h"
#include "workers/actor_critic_learner.h"
#include "workers/evaluator_worker.h"
#include "workers/policy_worker.h"
#include "workers/rollout_worker.h"
#include "workers/trainer_worker.h"

using namespace sluice;

Graph ppo_cartpole() {
  const std::string env = "CartPole-v1";
  const int64_t envs = 64;     // side by side; each writes one chunk per policy version
  const int64_t horizon = 32;  // steps per chunk
  const NetConfig net{.hidden = {64, 64}};
  const PpoConfig config{.gamma = 0.98, .gae_lambda = 0.8, .epochs = 10, .learning_rate = 2e-3};

  Graph g{"ppo_cartpole"};
  auto act = g.service<Observation, Action>("act").batch(up_to(envs), within(1ms));
  auto samples = g.stream<Trajectory>("samples").capacity(envs).admit_ahead(0, envs);
  auto weights = g.latest<Weights>("weights");
  g.add("rollout", Rollout{.env = env, .ring = envs, .horizon = horizon}).asks(act).writes(samples);
  g.add("policy", Policy{.env = env, .net = net}).serves(act).follows(weights);
  g.add("trainer",
        Trainer{.env = env, .net = net, .batch = envs, .horizon = horizon, .learner = ppo(config)})
      .reads(samples)
      .publishes(weights);
  g.add("evaluator", Evaluator{.env = env, .net = net, .has_target = true, .target = 475})
      .follows(weights);
  return g;
}

int main(int argc, char** argv) {
  const Placement placement = Placement::one_process().together("policy", "rollout");
  return run(ppo_cartpole(), placement, argc, argv);
}
