#include "workers/policy_worker.h"

#include "dataflow/base/log.h"
#include "envs/registry.h"

namespace sluice {

void Policy::bind(ConfigBinder& b) {
  b.field("env", env, "environment whose spaces the network is made for");
  b.section("net", net);
}

void Policy::check(std::vector<std::string>& problems) const {
  const auto known = env_spec(env);
  if (!known.ok()) {
    problems.push_back(known.status().message());
  } else if (const auto spec = actor_critic_spec(*known, net); !spec.ok()) {
    problems.push_back(spec.status().message());
  }
}

PortSchemas Policy::schemas() const {
  PortSchemas out;
  if (const auto known = env_spec(env); known.ok()) {
    out.serves(0, Observation::schema(known->observation), Action::schema(known->action.tensor()));
    if (const auto spec = actor_critic_spec(*known, net); spec.ok()) {
      out.follows(0, weights_schema(*spec));
    }
  }
  return out;
}

Result<std::unique_ptr<Worker>> Policy::make(WorkerContext& context) const {
  ASSIGN_OR_RETURN(const EnvSpec known, env_spec(env));
  ASSIGN_OR_RETURN(const ActorCriticSpec spec, actor_critic_spec(known, net));
  ASSIGN_OR_RETURN(auto server, (context.server<Observation, Action>()));
  ASSIGN_OR_RETURN(auto follower, context.follower<Weights>());
  return std::unique_ptr<Worker>(
      std::make_unique<PolicyWorker>(PolicyModel(spec, RandomKey(context.seed())), context,
                                     std::move(server), std::move(follower)));
}

PolicyWorker::PolicyWorker(PolicyModel model, WorkerContext& context,
                           ServiceServer<Observation, Action> server,
                           LatestFollower<Weights> weights)
    : model_(std::move(model)),
      server_(std::move(server)),
      weights_(std::move(weights)),
      answered_(context.metrics().counter("sluice_policy_answers_total", "Observations answered.",
                                          context.labels())),
      passes_(context.metrics().counter("sluice_policy_passes_total",
                                        "Forward passes, one for each batch of questions.",
                                        context.labels())),
      swaps_(context.metrics().counter("sluice_policy_swaps_total", "Weight versions installed.",
                                       context.labels())),
      refused_(context.metrics().counter("sluice_policy_refused_weights_total",
                                         "Weight versions that did not match their digest.",
                                         context.labels())),
      version_(context.metrics().gauge("sluice_policy_version", "Step of the version that serves.",
                                       context.labels())) {}

Status PolicyWorker::follow() {
  if (!weights_.has_newer(seen_)) return {};
  const auto newest = weights_.current();
  seen_ = newest.tag;
  const Status installed = model_.install(*newest.value);
  if (installed.code() == Code::DataLoss) {  // damaged on the way: the next one will be whole
    refused_.add();
    log(LogLevel::Warning, "{}; version {} goes on serving", installed.message(),
        model_.version().to_string());
    return {};
  }
  RETURN_IF_ERROR(installed);
  swaps_.add();
  version_.set(static_cast<double>(newest.tag.step));
  return {};
}

void PolicyWorker::answer() {
  questions_.clear();
  for (auto& call : batch_) questions_.push_back({&call->request, &call->response});
  const Status together = model_.answer(questions_);
  for (auto& call : batch_) {
    // One that cannot be answered must not spoil the others.
    call->status = together.ok() ? together : model_.answer(call->request, call->response);
    answered_.add(call->request.count);
    server_.answer(std::move(call));
  }
  passes_.add(model_.passes() - counted_passes_);
  counted_passes_ = model_.passes();
}

Result<StepResult> PolicyWorker::step() {
  RETURN_IF_ERROR(follow());
  if (server_.ended() || (draining() && server_.next_due() == kForever)) {
    server_.close();
    weights_.close();
    return StepResult::finished();
  }
  if (!model_.version().valid()) return StepResult::idle();
  if (!server_.try_take(batch_)) return StepResult::idle(server_.next_due());
  answer();
  return StepResult::progress();
}

}  // namespace sluice
