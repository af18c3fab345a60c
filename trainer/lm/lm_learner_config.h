#pragma once
#include "dataflow/base/config.h"
#include "trainer/lm/lr_schedule.h"
#include "trainer/optim/adam.h"

namespace sluice {

/// Settings of LmLearner.
struct LmLearnerConfig {
  double learning_rate = 1e-6;  ///< the schedule's peak
  LrSchedule schedule;
  AdamConfig adam{.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .weight_decay = 0};
  bool decay_all = false;                  ///< norms and biases decay too
  double max_grad_norm = 1;                ///< 0: no clipping
  int64_t keep_logits = int64_t{1} << 25;  ///< most of a micro-batch kept for the backward pass
  int64_t token_budget = 2048;             ///< most token rows of a micro-batch
  double temperature = 1;                  ///< that the responses were sampled with
  bool share_prompts = true;  ///< responses of a group continue one copy of their prompt
  bool value_head = false;    ///< a critic on the same trunk: one number per response token
  bool recompute = false;     ///< keep each layer's input only and run it again backwards

  void bind(ConfigBinder& b);
  /// What bounds on single values cannot say.
  [[nodiscard]] Status check() const;
};

}  // namespace sluice
