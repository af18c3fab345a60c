// GRPO teaches SmolLM2 to add: the run ends when held-out sums score 0.8.
#include "apps/run/run.h"
#include "dataflow/flow.h"
#include "workers/llm/group_sampler.h"
#include "workers/llm/judge.h"
#include "workers/llm/lm_evaluator.h"
#include "workers/llm/lm_trainer.h"
#include "workers/llm/prompt_source.h"
#include "workers/llm_engine.h"

using namespace sluice;

Graph grpo_arithmetic(const std::string& model) {
  const TaskConfig task{.name = "arithmetic"};
  const SamplingConfig sampling{.max_tokens = 16};
  const int64_t batch = 8;      // groups per version
  const int64_t staleness = 0;  // versions that a group may be behind
  GroupLearnerConfig grpo{.advantage = AdvantageRule::Grpo};
  grpo.learner.learning_rate = 3e-5;

  Graph g{"grpo_arithmetic"};
  auto prompts = g.stream<Prompt>("prompts").capacity(4 * batch);
  auto generate = g.service<GenRequest, Completion>("generate").batch(up_to(65536));
  auto judge = g.service<JudgeRequest, Scores>("judge").batch(up_to(64)).deadline(60s);
  auto groups = g.stream<Group>("groups")
                    .capacity((staleness + 1) * batch)
                    .admit_ahead(staleness, batch)
                    .max_staleness(staleness, OnStale::Wait);
  auto weights = g.latest<Weights>("weights").swap(Swap::Resume);
  g.add("source", PromptSource{.task = task, .model = model}).writes(prompts);
  g.add("sampler", GroupSampler{.group = 8, .sampling = sampling})
      .reads(prompts)
      .asks(generate)
      .asks(judge)
      .writes(groups);
  g.add("engine", LlmEngine{.model = model}).serves(generate).follows(weights);
  g.add("verifier", Judge{.task = task}).serves(judge);
  g.add("trainer", LmTrainer{.model = model, .groups = batch, .algorithm = grpo})
      .reads(groups)
      .publishes(weights);
  g.add("evaluator", LmEvaluator{.task = task,
                                 .model = model,
                                 .every = 5,
                                 .sampling = sampling,
                                 .has_target = true,
                                 .target = 0.8})
      .asks(generate)
      .asks(judge)
      .follows(weights);
  return g;
}

int main(int argc, char** argv) {
  Placement placement = Placement::one_process();
  placement.put("trainer", 1).threads(2);
  placement.put("engine", 1).threads(2);
  return run(grpo_arithmetic("smollm2"), placement, argc, argv);
}
