#include "workers/llm/lm_trainer.h"

#include "models/io/checkpoint.h"
#include "models/io/model_cache.h"
#include "models/transformer/loading.h"

#include <ATen/Parallel.h>
#include <malloc.h>

#include <algorithm>

namespace sluice {
namespace {

Result<std::unique_ptr<LmLearner>> load_learner(const std::string& model,
                                                const LmLearnerConfig& config) {
  ASSIGN_OR_RETURN(const std::string path, resolve_model(model));
  ASSIGN_OR_RETURN(const auto checkpoint, Checkpoint::open(path));
  ASSIGN_OR_RETURN(Transformer transformer, load_transformer(*checkpoint));
  return LmLearner::create(std::move(transformer), config);
}

}  // namespace

void LmTrainer::bind(ConfigBinder& b) {
  b.field("model", model, "folder, .gguf file, or name of a fetched model");
  b.field("groups", groups, "groups per version", Range::between(1, 1 << 20));
  b.field("prefetch", prefetch, "batches taken from the stream ahead of use",
          Range::between(0, 64));
  b.field("checkpoint_every", checkpoint_every, "versions between checkpoints; 0 = only at the end",
          Range::at_least(0));
  b.section("algorithm", algorithm);
}

void LmTrainer::check(std::vector<std::string>& problems) const {
  if (const auto path = resolve_model(model); !path.ok()) {
    problems.push_back(path.status().message());
  }
  algorithm.check(groups, problems);
}

Result<std::unique_ptr<Worker>> LmTrainer::make(WorkerContext& context) const {
  // Activations come and go by the gigabyte: pages that were faulted in once stay.
  mallopt(M_MMAP_THRESHOLD, 1 << 25);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  static_cast<void>(at::get_num_threads());  // the first call undoes an earlier setting
  at::set_num_threads(static_cast<int>(context.threads()));
  ASSIGN_OR_RETURN(auto learner, load_learner(model, algorithm.learner));
  std::unique_ptr<LmLearner> reference;
  if (algorithm.loss.kl_coef > 0) {
    ASSIGN_OR_RETURN(reference, load_learner(model, algorithm.learner));
  }
  ASSIGN_OR_RETURN(auto reader, context.reader<Group>());
  ASSIGN_OR_RETURN(auto publisher, context.publisher<Weights>());
  return std::unique_ptr<Worker>(std::make_unique<LmTrainerWorker>(
      *this,
      std::make_unique<GroupLearner>(algorithm, std::move(learner), std::move(reference),
                                     context.clock()),
      context, std::move(reader), std::move(publisher)));
}

LmTrainerWorker::LmTrainerWorker(const LmTrainer& spec,
                                 std::unique_ptr<BatchLearner<Group>> learner,
                                 WorkerContext& context, StreamReader<Group> groups,
                                 LatestPublisher<Weights> weights)
    : TrainerLoop({spec.groups, spec.prefetch, spec.checkpoint_every}, std::move(learner), context,
                  std::move(groups), std::move(weights)),
      model_(spec.model) {}

void LmTrainerWorker::arrange(std::vector<Item<Group>>& batch) const {
  std::sort(batch.begin(), batch.end(), [](const auto& a, const auto& b) {
    return a.value->prompt.number < b.value->prompt.number;
  });
}

void LmTrainerWorker::note(const Group& group) {
  rollouts_ += std::ssize(group.rollouts);
  for (const TokenRollout& rollout : group.rollouts) tokens_ += std::ssize(rollout.tokens);
}

void LmTrainerWorker::report(RunControl& run) {
  run.report("rollouts", static_cast<double>(rollouts_));
  run.report("trained_tokens", static_cast<double>(tokens_));
}

Status LmTrainerWorker::save(Snapshot& out) const {
  RETURN_IF_ERROR(TrainerLoop::save(out));
  out.put(kModel, model_);
  out.put_value("rollouts", rollouts_);
  out.put_value("tokens", tokens_);
  return {};
}

Status LmTrainerWorker::load(const Snapshot& in) {
  RETURN_IF_ERROR(TrainerLoop::load(in));
  RETURN_IF_ERROR(in.get_value("rollouts", rollouts_));
  return in.get_value("tokens", tokens_);
}

}  // namespace sluice
