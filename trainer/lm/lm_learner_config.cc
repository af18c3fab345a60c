#include "trainer/lm/lm_learner_config.h"

#include <cmath>

namespace sluice {

void LmLearnerConfig::bind(ConfigBinder& b) {
  b.field("learning_rate", learning_rate, "peak learning rate of AdamW", Range::at_least(0));
  b.section("schedule", schedule);
  b.field("beta1", adam.beta1, "decay of AdamW's first moment", Range::between(0, 0.999999));
  b.field("beta2", adam.beta2, "decay of AdamW's second moment", Range::between(0, 0.999999));
  b.field("eps", adam.eps, "added to the root of AdamW's second moment", Range::at_least(1e-30));
  b.field("weight_decay", adam.weight_decay, "decoupled weight decay", Range::at_least(0));
  b.field("decay_all", decay_all, "let norms and biases decay too");
  b.field("max_grad_norm", max_grad_norm, "gradients above this norm are scaled down; 0: never",
          Range::at_least(0));
  b.field("token_budget", token_budget, "most token rows of a micro-batch", Range::at_least(1));
  b.field("keep_logits", keep_logits,
          "logits of a micro-batch up to this number are kept for the backward pass, more are made "
          "again there",
          Range::at_least(0));
  b.field("temperature", temperature, "divides the logits, as when the responses were sampled",
          Range::at_least(1e-6));
  b.field("share_prompts", share_prompts, "train the responses of a prompt on one copy of it");
  b.field("value_head", value_head, "train a value head on the model's last hidden state, from 0");
  b.field("recompute", recompute, "keep only the input of each layer for the backward pass");
}

Status LmLearnerConfig::check() const {
  LmLearnerConfig copy = *this;
  ConfigBinder binder;
  copy.bind(binder);
  RETURN_IF_ERROR(binder.check());
  return schedule.check();
}

}  // namespace sluice
