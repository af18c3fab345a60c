#include "workers/trainer_worker.h"

#include "dataflow/base/log.h"
#include "envs/registry.h"
#include "workers/saved_policy.h"

#include <algorithm>
#include <iterator>
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
    : spec_(spec),
      learner_(std::move(learner)),
      run_(context.run()),
      clock_(context.clock()),
      waker_(context.waker()),
      samples_(std::move(samples)),
      weights_(std::move(weights)),
      versions_(context.metrics().counter("sluice_trainer_versions_total",
                                          "Policy versions published.", context.labels())),
      trained_steps_(context.metrics().counter(
          "sluice_trainer_steps_total", "Environment steps learned from.", context.labels())),
      dropped_at_end_(context.metrics().counter("sluice_trainer_dropped_total",
                                                "Chunks taken, but never learned from.",
                                                context.labels({{"reason", "drained"}}))),
      dropped_lost_(context.metrics().counter("sluice_trainer_dropped_total",
                                              "Chunks taken, but never learned from.",
                                              context.labels({{"reason", "lost"}}))),
      staleness_(context.metrics().histogram(
          "sluice_trainer_staleness", "Versions between the oldest action of a chunk and its use.",
          {0, 1, 2, 4, 8, 16, 32}, context.labels())) {
  began_ = clock_.now();
  incarnation_ = run_.incarnation() + static_cast<uint32_t>(context.attempt());
  run_.watch(&waker_);  // a request to stop must reach a trainer that waits for samples
}

TrainerWorker::~TrainerWorker() { drop_unused(dropped_lost_); }

Result<StepResult> TrainerWorker::step() {
  switch (phase_) {
    case Phase::Publish:
      RETURN_IF_ERROR(publish());
      return StepResult::progress();
    case Phase::Collect:
      return collect();
    case Phase::Learn:
      return learn();
    case Phase::Checkpoint:
      if (run_.checkpoint_pending()) return StepResult::idle();
      phase_ = Phase::Publish;
      return StepResult::progress();
    case Phase::LastCheckpoint:
      if (run_.checkpoint_pending()) return StepResult::idle();
      // Followers get the last version too, but nobody is admitted to make samples for it.
      if (version_ != current_.step) RETURN_IF_ERROR(announce());
      phase_ = Phase::Done;
      return StepResult::progress();
    case Phase::Done:
      drop_unused(dropped_at_end_);
      samples_.close();
      weights_.close();
      run_.finish();
      return StepResult::finished();
  }
  return StepResult::finished();
}

void TrainerWorker::drain() {
  Worker::drain();
  // Whoever drains the trainer has checkpointed already or does not want one.
  if (phase_ != Phase::LastCheckpoint) phase_ = Phase::Done;
}

void TrainerWorker::drop_unused(Counter& reason) {
  reason.add(static_cast<int64_t>(batch_.size() + ahead_.size()));
  batch_.clear();
  ahead_.clear();
}

bool TrainerWorker::run_is_over() const {
  const int64_t limit = run_.max_steps();
  return run_.stop_requested() || (limit >= 0 && env_steps_ >= limit);
}

Status TrainerWorker::announce() {
  auto weights = std::make_shared<Weights>(learner_->weights());
  weights->tag = {run_.run(), incarnation_, version_, weights->digest()};
  current_ = weights->tag;
  RETURN_IF_ERROR(weights_.publish(weights, current_));
  versions_.add();
  run_.report("version", static_cast<double>(version_));
  run_.report("incarnation", static_cast<double>(incarnation_));
  return {};
}

Status TrainerWorker::publish() {
  RETURN_IF_ERROR(announce());
  samples_.advance(current_);
  phase_ = Phase::Collect;
  return {};
}

Result<StepResult> TrainerWorker::collect() {
  if (run_is_over()) {
    run_.request_checkpoint(version_, &waker_);
    phase_ = Phase::LastCheckpoint;
    return StepResult::progress();
  }
  RETURN_IF_ERROR(samples_.drop_stale(ahead_));
  if (const int64_t missing = spec_.batch - static_cast<int64_t>(ahead_.size()); missing > 0) {
    RETURN_IF_ERROR(take_ahead(missing));
    if (static_cast<int64_t>(ahead_.size()) < spec_.batch) return StepResult::idle();
  }
  const auto end = ahead_.begin() + spec_.batch;
  std::vector<Item<Trajectory>> items(std::move_iterator(ahead_.begin()), std::move_iterator(end));
  ahead_.erase(ahead_.begin(), end);
  RETURN_IF_ERROR(begin(std::move(items)));
  phase_ = Phase::Learn;
  return StepResult::progress();
}

Status TrainerWorker::begin(std::vector<Item<Trajectory>> items) {
  std::sort(items.begin(), items.end(), [](const auto& a, const auto& b) {
    return std::pair(a.value->slot, a.value->number) < std::pair(b.value->slot, b.value->number);
  });
  batch_ = std::move(items);
  std::vector<std::shared_ptr<const Trajectory>> chunks;
  batch_staleness_ = 0;
  for (const auto& item : batch_) {
    // Staleness counts from the moment of use, so prefetched batches show their age.
    const auto behind = static_cast<double>(staleness(current_, item.info.versions));
    staleness_.observe(behind);
    batch_staleness_ += behind / static_cast<double>(batch_.size());
    for (const auto& episode : item.value->episodes) {
      ++episodes_;
      recent_returns_.push_back(episode.episode_return);
      if (recent_returns_.size() > kRecentEpisodes) recent_returns_.pop_front();
    }
    chunks.push_back(item.value);
  }
  return learner_->begin(chunks);
}

Status TrainerWorker::take_ahead(int64_t items) {
  ASSIGN_OR_RETURN(auto taken, samples_.try_take(items));
  std::move(taken.begin(), taken.end(), std::back_inserter(ahead_));
  return {};
}

Status TrainerWorker::prefetch() {
  const auto held = static_cast<int64_t>(ahead_.size());
  return held + spec_.batch <= spec_.prefetch * spec_.batch ? take_ahead(spec_.batch) : Status();
}

Result<StepResult> TrainerWorker::learn() {
  RETURN_IF_ERROR(prefetch());
  ASSIGN_OR_RETURN(const bool more, learner_->step());
  if (!more) finish_version();
  return StepResult::progress();
}

void TrainerWorker::finish_version() {
  int64_t steps = 0;
  for (const auto& item : batch_) steps += item.value->steps.rows();
  batch_.clear();
  env_steps_ += steps;
  trained_steps_.add(steps);
  ++version_;

  const TimeNs now = clock_.now();
  began_steps_ += steps;
  run_.report("env_steps", static_cast<double>(env_steps_));
  run_.report("episodes", static_cast<double>(episodes_));
  run_.report("staleness", batch_staleness_);
  if (now > began_) {
    run_.report("env_steps_per_second",
                static_cast<double>(began_steps_) * 1e9 / static_cast<double>(now - began_));
  }
  if (!recent_returns_.empty()) {
    run_.report("episode_return",
                std::accumulate(recent_returns_.begin(), recent_returns_.end(), 0.0) /
                    static_cast<double>(recent_returns_.size()));
  }
  for (const auto& [name, value] : learner_->stats()) run_.report(name, value);

  const bool due = spec_.checkpoint_every > 0 && version_ % spec_.checkpoint_every == 0;
  if (run_is_over()) {
    run_.request_checkpoint(version_, &waker_);
    phase_ = Phase::LastCheckpoint;
  } else if (due) {
    run_.request_checkpoint(version_, &waker_);
    phase_ = Phase::Checkpoint;
  } else {
    phase_ = Phase::Publish;
  }
}

Status TrainerWorker::save(Snapshot& out) const {
  out.put_value("version", version_);
  out.put_value("incarnation", incarnation_);
  out.put_value("env_steps", env_steps_);
  out.put_value("episodes", episodes_);
  const std::vector<double> recent(recent_returns_.begin(), recent_returns_.end());
  out.put_array("recent_returns", std::span<const double>(recent));
  Snapshot learner;
  RETURN_IF_ERROR(learner_->save(learner));
  out.put("learner", learner.encode());
  SavedPolicy policy{spec_.env, spec_.net, learner_->weights()};
  policy.weights.tag = {run_.run(), incarnation_, version_, policy.weights.digest()};
  policy.save(out);
  return {};
}

Status TrainerWorker::load(const Snapshot& in) {
  RETURN_IF_ERROR(in.get_value("version", version_));
  uint32_t before = 0;
  RETURN_IF_ERROR(in.get_value("incarnation", before));
  incarnation_ += before + 1;  // nobody can mistake what comes now for what the lost trainer made
  RETURN_IF_ERROR(in.get_value("env_steps", env_steps_));
  RETURN_IF_ERROR(in.get_value("episodes", episodes_));
  ASSIGN_OR_RETURN(const auto recent_bytes, in.get("recent_returns"));
  std::vector<double> recent(recent_bytes.size() / sizeof(double));
  RETURN_IF_ERROR(in.get_array("recent_returns", std::span(recent)));
  recent_returns_.assign(recent.begin(), recent.end());
  ASSIGN_OR_RETURN(const auto bytes, in.get("learner"));
  ASSIGN_OR_RETURN(const Snapshot learner, Snapshot::decode(bytes));
  RETURN_IF_ERROR(learner_->load(learner));
  // A run that has nothing left to do still says how far it is.
  run_.report("env_steps", static_cast<double>(env_steps_));
  return {};
}

}  // namespace sluice
