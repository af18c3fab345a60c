#include "algorithms/ppo.h"

namespace sluice {

void PpoConfig::bind(ConfigBinder& b) {
  b.field("gamma", gamma, "discount per step", Range::between(0, 1));
  b.field("gae_lambda", gae_lambda, "mixing of generalised advantage estimation",
          Range::between(0, 1));
  b.field("clip", clip, "range of the probability ratio", Range::between(1e-6, 10));
  b.field("value_clip", value_clip, "range of the value's change; 0 = off", Range::at_least(0));
  b.field("entropy_coef", entropy_coef, "weight of the entropy bonus", Range::at_least(0));
  b.field("value_coef", value_coef, "weight of the value loss", Range::at_least(0));
  b.field("target_kl", target_kl, "epochs stop at 1.5 times this KL estimate; 0 = off",
          Range::at_least(0));
  b.field("normalise_advantage", normalise_advantage, "per minibatch, to mean 0 and deviation 1");
  b.field("epochs", epochs, "passes over a batch", Range::between(1, 10'000));
  b.field("minibatches", minibatches, "updates per pass", Range::between(1, 1 << 20));
  b.field("learning_rate", learning_rate, "Adam's step size", Range::between(1e-12, 10));
  b.field("anneal", anneal, "let the learning rate fall linearly to 0 over max_steps");
  b.field("max_grad_norm", max_grad_norm, "global norm gradients are clipped to; 0 = off",
          Range::at_least(0));
  b.field("adam_eps", adam_eps, "Adam's epsilon", Range::between(1e-16, 1));
  b.field("normalise_reward", normalise_reward,
          "divide rewards by the spread of the discounted return");
}

}  // namespace sluice
