#include "workers/evaluator_worker.h"

#include "dataflow/base/log.h"
#include "envs/registry.h"

namespace sluice {

void Evaluator::bind(ConfigBinder& b) {
  b.field("env", env, "environment, by its registered name");
  b.section("net", net);
  b.field("every", every, "versions between evaluations", Range::at_least(1));
  b.field("episodes", episodes, "episodes per evaluation", Range::between(1, 1 << 20));
  b.field("has_target", has_target, "end the run when a score reaches the target");
  b.field("target", target, "mean return that ends the run");
}

void Evaluator::check(std::vector<std::string>& problems) const {
  const auto known = env_spec(env);
  if (!known.ok()) {
    problems.push_back(known.status().message());
  } else if (const auto spec = actor_critic_spec(*known, net); !spec.ok()) {
    problems.push_back(spec.status().message());
  }
}

PortSchemas Evaluator::schemas() const {
  PortSchemas out;
  const auto known = env_spec(env);
  if (!known.ok()) return out;
  if (const auto spec = actor_critic_spec(*known, net); spec.ok()) {
    out.follows(0, weights_schema(*spec));
  }
  return out;
}

Result<std::unique_ptr<Worker>> Evaluator::make(WorkerContext& context) const {
  ASSIGN_OR_RETURN(const EnvSpec known, env_spec(env));
  ASSIGN_OR_RETURN(const ActorCriticSpec spec, actor_critic_spec(known, net));
  ASSIGN_OR_RETURN(auto follower, context.follower<Weights>());
  return std::unique_ptr<Worker>(std::make_unique<EvaluatorWorker>(
      *this, PolicyModel(spec, RandomKey(context.seed())), context, std::move(follower)));
}

EvaluatorWorker::EvaluatorWorker(const Evaluator& spec, PolicyModel model, WorkerContext& context,
                                 LatestFollower<Weights> weights)
    : spec_(spec),
      model_(std::move(model)),
      run_(context.run()),
      weights_(std::move(weights)),
      key_(context.key().split("episodes")),
      where_(context.where()) {
  where_->call(fmt::format("environment '{}'", spec_.env), "episode");
}

Result<StepResult> EvaluatorWorker::step() {
  if (!running_) {
    ASSIGN_OR_RETURN(const bool begun, begin_next());
    if (begun) return StepResult::progress();
    if (!draining()) return StepResult::idle();
    weights_.close();
    return StepResult::finished();
  }
  ASSIGN_OR_RETURN(const bool more, running_->step(model_));
  if (!more) report();
  return StepResult::progress();
}

Result<bool> EvaluatorWorker::begin_next() {
  if (!weights_.has_newer(last_scored_)) return false;
  const auto newest = weights_.current();
  if (!newest.value || (newest.tag.step < next_due_ && !draining())) return false;
  RETURN_IF_ERROR(model_.install(*newest.value));
  ASSIGN_OR_RETURN(auto begun, Evaluation::begin(spec_.env, spec_.episodes, key_, where_));
  running_ = std::move(begun);
  running_->score().version = newest.tag;
  last_scored_ = newest.tag;
  next_due_ = (newest.tag.step / spec_.every + 1) * spec_.every;
  return true;
}

void EvaluatorWorker::report() {
  const EpisodeScore& score = running_->score();
  run_.report("eval_return", score.mean());
  run_.report("eval_version", static_cast<double>(score.version.step));
  log(LogLevel::Info, "evaluation of {}: return {:.2f} +- {:.2f} over {} episodes",
      score.version.to_string(), score.mean(), score.deviation(), score.returns.size());
  if (spec_.has_target && score.mean() >= spec_.target) {
    run_.request_stop(fmt::format("evaluation return {:.1f} reached the target {:.1f}",
                                  score.mean(), spec_.target));
  }
  running_.reset();
}

}  // namespace sluice
