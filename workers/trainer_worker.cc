#include "workers/trainer_worker.h"

#include "envs/registry.h"
#include "workers/saved_policy.h"

#include <algorithm>
#include <numeric>

namespace sluice {
namespace {

constexpr size_t kRecentEpisodes = 100;

}  // namespace

void Trainer::bind(ConfigBinder& b) {
  b.field("env", env, "environment whose spaces the network is made for");
  b.section("net", net);
  b.field("batch", batch, "chunks per version", Range::between(1, 1 << 20));
  b.field("horizon", horizon, "steps per chunk", Range::between(1, 1 << 20));
  b.field("prefetch", prefetch, "batches taken from the stream ahead of use",
          Range::between(0, 64));
  b.field("schedule_steps", schedule_steps,
          "environment steps that schedules are laid out for; 0 = open", Range::at_least(0));
  b.field("checkpoint_every", checkpoint_every, "versions between checkpoints; 0 = only at the end",
          Range::at_least(0));
  if (learner.bind) learner.bind(b);
}

void Trainer::check(std::vector<std::string>& problems) const {
  const auto known = env_spec(env);
  if (!known.ok()) {
    problems.push_back(known.status().message());
    return;
  }
  if (!learner.make) {
    problems.emplace_back("no learner was given: Trainer{.learner = ppo(config)}");
    return;
  }
  if (const auto spec = actor_critic_spec(*known, net); !spec.ok())
    problems.push_back(spec.status().message());
  LearnerSetup setup;
  setup.env = *known;
  setup.net = net;
  setup.batch = batch;
  setup.horizon = horizon;
  if (learner.check) learner.check(setup, problems);
}

PortSchemas Trainer::schemas() const {
  PortSchemas out;
  if (const auto known = env_spec(env); known.ok()) {
    out.reads(0, Trajectory::schema(known->observation, known->action.tensor()), horizon);
    if (const auto spec = actor_critic_spec(*known, net); spec.ok()) {
      out.publishes(0, weights_schema(*spec));
    }
  }
  return out;
}

Result<std::unique_ptr<Worker>> Trainer::make(WorkerContext& context) const {
  ASSIGN_OR_RETURN(const EnvSpec known, env_spec(env));
  LearnerSetup setup{known,
                     net,
                     batch,
                     horizon,
                     schedule_steps,
                     static_cast<int>(context.threads()),
                     RandomKey(context.seed()).split("learner")};
  ASSIGN_OR_RETURN(auto made, learner.make(setup));
  ASSIGN_OR_RETURN(auto reader, context.reader<Trajectory>());
  ASSIGN_OR_RETURN(auto publisher, context.publisher<Weights>());
  return std::unique_ptr<Worker>(std::make_unique<TrainerWorker>(
      *this, std::move(made), context, std::move(reader), std::move(publisher)));
}

TrainerWorker::TrainerWorker(const Trainer& spec, std::unique_ptr<TrajectoryLearner> learner,
                             WorkerContext& context, StreamReader<Trajectory> samples,
                             LatestPublisher<Weights> weights)
    : TrainerLoop({spec.batch, spec.prefetch, spec.checkpoint_every}, std::move(learner), context,
                  std::move(samples), std::move(weights)),
      env_(spec.env),
      net_(spec.net) {}

void TrainerWorker::arrange(std::vector<Item<Trajectory>>& batch) const {
  std::sort(batch.begin(), batch.end(), [](const auto& a, const auto& b) {
    return std::pair(a.value->slot, a.value->number) < std::pair(b.value->slot, b.value->number);
  });
}

int64_t TrainerWorker::steps_of(const std::vector<Item<Trajectory>>& batch) const {
  int64_t steps = 0;
  for (const auto& item : batch) steps += item.value->steps.rows();
  return steps;
}

void TrainerWorker::note(const Trajectory& chunk) {
  for (const auto& episode : chunk.episodes) {
    ++episodes_;
    recent_returns_.push_back(episode.episode_return);
    if (recent_returns_.size() > kRecentEpisodes) recent_returns_.pop_front();
  }
}

void TrainerWorker::report(RunControl& run) {
  run.report("env_steps", static_cast<double>(steps()));
  run.report("env_steps_per_second", steps_per_second());
  run.report("episodes", static_cast<double>(episodes_));
  if (recent_returns_.empty()) return;
  run.report("episode_return",
             std::accumulate(recent_returns_.begin(), recent_returns_.end(), 0.0) /
                 static_cast<double>(recent_returns_.size()));
}

Status TrainerWorker::save(Snapshot& out) const {
  RETURN_IF_ERROR(TrainerLoop::save(out));
  out.put_value("episodes", episodes_);
  const std::vector<double> recent(recent_returns_.begin(), recent_returns_.end());
  out.put_array("recent_returns", std::span<const double>(recent));
  SavedPolicy policy{env_, net_, learner().weights()};
  policy.weights.tag = tag_of(policy.weights);
  policy.save(out);
  return {};
}

Status TrainerWorker::load(const Snapshot& in) {
  RETURN_IF_ERROR(TrainerLoop::load(in));
  RETURN_IF_ERROR(in.get_value("episodes", episodes_));
  ASSIGN_OR_RETURN(const auto recent_bytes, in.get("recent_returns"));
  std::vector<double> recent(recent_bytes.size() / sizeof(double));
  RETURN_IF_ERROR(in.get_array("recent_returns", std::span(recent)));
  recent_returns_.assign(recent.begin(), recent.end());
  run().report("env_steps", static_cast<double>(steps()));
  return {};
}

}  // namespace sluice
