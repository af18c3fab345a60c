#pragma once
#include "apps/run/recipe.h"
#include "inference/kernels/linear_kernels.h"
#include "workers/llm/group_learner.h"
#include "workers/llm/sampling_config.h"
#include "workers/llm/task_config.h"

#include <memory>
#include <string>

namespace sluice {

/// Post-training of a language model on groups of completions:
/// `sluice run grpo --model smollm2 --task arithmetic`.
struct GroupSettings {
  std::string model = "smollm2";
  TaskConfig task = {};
  int64_t prompts = 8;    ///< groups per update
  int64_t group = 8;      ///< completions per group
  int64_t staleness = 0;  ///< versions that a group may be behind; 0 = on-policy
  int64_t updates = 100;  ///< 0 = without end
  int64_t max_prompt = 512;
  int64_t threads = 2;  ///< of the trainer, and of the engine
  int64_t kv_mib = 512;
  WeightFormat weights = WeightFormat::Fp32;  ///< the engine's
  SamplingConfig sampling = {};
  GroupLearnerConfig algorithm = {};
  int64_t checkpoint_every = 0;
  int64_t eval_every = 5;  ///< versions; 0 = never
  int64_t eval_problems = 64;
  int64_t eval_samples = 4;
  bool stop_at_target = false;
  double target = 0.8;

  void bind(ConfigBinder& b);
};

/// prompts -> sampler -> groups -> trainer -> weights -> engine -> sampler, with a judge beside.
/// With staleness 0 a version trains on exactly the groups that it made itself.
Result<Program> group_program(const std::string& name, const GroupSettings& settings);

std::unique_ptr<Recipe> make_grpo_recipe();

}  // namespace sluice
