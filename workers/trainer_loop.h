#pragma once
#include "dataflow/base/metrics.h"
#include "dataflow/base/worker.h"
#include "dataflow/graph/worker_context.h"
#include "dataflow/types/weights.h"
#include "workers/batch_learner.h"

#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace sluice {

/// What the loops of all trainers have in common. Per version: take a batch (arranged, so that the
/// order of arrival does not matter), learn from it piece by piece, checkpoint if it is due,
/// publish, and tell the stream. The checkpoint comes before the publication: an on-policy run is
/// quiet then, and the resumed run publishes that same version first.
///
/// A kind of trainer says what its items count for and what it tells of them.
template <class T>
class TrainerLoop : public Worker {
 public:
  struct Options {
    int64_t batch = 1;             ///< items per version
    int64_t prefetch = 0;          ///< batches taken from the stream ahead of use
    int64_t checkpoint_every = 0;  ///< versions between checkpoints; 0 = only at the end
  };

  TrainerLoop(const Options& options, std::unique_ptr<BatchLearner<T>> learner,
              WorkerContext& context, StreamReader<T> samples, LatestPublisher<Weights> weights);
  /// Items in hand are counted as lost.
  ~TrainerLoop() override { drop_unused(dropped_lost_); }

  Result<StepResult> step() override;
  void drain() override;
  Status save(Snapshot& out) const override;
  Status load(const Snapshot& in) override;

 protected:
  /// Brings a batch into the order it is learned from.
  virtual void arrange(std::vector<Item<T>>& batch) const = 0;
  /// What one batch adds to the steps of the run (its limit, its progress line).
  [[nodiscard]] virtual int64_t steps_of(const std::vector<Item<T>>& batch) const = 0;
  /// Told of every item when it is used.
  virtual void note(const T& item) = 0;
  /// After a version was made: what else there is to report.
  virtual void report(RunControl& run) = 0;

  [[nodiscard]] const BatchLearner<T>& learner() const noexcept { return *learner_; }
  [[nodiscard]] int64_t steps() const noexcept { return steps_; }
  [[nodiscard]] double steps_per_second() const noexcept { return rate_; }
  [[nodiscard]] RunControl& run() const noexcept { return run_; }
  /// The tag of the weights as they are now, though nobody may have been told of them yet.
  [[nodiscard]] VersionTag tag_of(const Weights& weights) const {
    return {run_.run(), incarnation_, version_, weights.digest()};
  }

 private:
  enum class Phase : uint8_t { Publish, Collect, Learn, Checkpoint, LastCheckpoint, Done };

  Status announce();
  Result<StepResult> collect();
  Status take_ahead(int64_t items);
  Status begin(std::vector<Item<T>> items);
  Result<StepResult> learn();
  void finish_version();
  void drop_unused(Counter& reason);
  [[nodiscard]] bool run_is_over() const {
    const int64_t limit = run_.max_steps();
    return run_.stop_requested() || (limit >= 0 && steps_ >= limit);
  }

  Options options_;
  std::unique_ptr<BatchLearner<T>> learner_;
  RunControl& run_;
  Clock& clock_;
  Waker& waker_;
  StreamReader<T> samples_;
  LatestPublisher<Weights> weights_;
  Phase phase_ = Phase::Publish;
  int64_t version_ = 0;  ///< step of the version to be published next, or published last
  int64_t steps_ = 0;    ///< learned from
  uint32_t incarnation_ = 0;
  VersionTag current_;
  std::vector<Item<T>> ahead_;  ///< taken, not used yet; judged again at use
  std::vector<Item<T>> batch_;  ///< kept alive while it is learned from
  double batch_staleness_ = 0;  ///< mean over the batch
  TimeNs began_ = 0;
  int64_t began_steps_ = 0;
  double rate_ = 0;

  Counter& versions_;
  Counter& trained_steps_;
  Counter& dropped_at_end_;
  Counter& dropped_lost_;
  Histogram& staleness_;
};

template <class T>
TrainerLoop<T>::TrainerLoop(const Options& options, std::unique_ptr<BatchLearner<T>> learner,
                            WorkerContext& context, StreamReader<T> samples,
                            LatestPublisher<Weights> weights)
    : options_(options),
      learner_(std::move(learner)),
      run_(context.run()),
      clock_(context.clock()),
      waker_(context.waker()),
      samples_(std::move(samples)),
      weights_(std::move(weights)),
      versions_(context.metrics().counter("sluice_trainer_versions_total",
                                          "Policy versions published.", context.labels())),
      trained_steps_(context.metrics().counter("sluice_trainer_steps_total",
                                               "Steps learned from, as the run counts them.",
                                               context.labels())),
      dropped_at_end_(context.metrics().counter("sluice_trainer_dropped_total",
                                                "Items taken, but never learned from.",
                                                context.labels({{"reason", "drained"}}))),
      dropped_lost_(context.metrics().counter("sluice_trainer_dropped_total",
                                              "Items taken, but never learned from.",
                                              context.labels({{"reason", "lost"}}))),
      staleness_(context.metrics().histogram(
          "sluice_trainer_staleness",
          "Versions between the oldest that made an item and the item's use.",
          {0, 1, 2, 4, 8, 16, 32}, context.labels())) {
  began_ = clock_.now();
  incarnation_ = run_.incarnation() + static_cast<uint32_t>(context.attempt());
  run_.watch(&waker_);  // a request to stop must reach a trainer that waits for samples
}

template <class T>
Result<StepResult> TrainerLoop<T>::step() {
  switch (phase_) {
    case Phase::Publish:
      RETURN_IF_ERROR(announce());
      samples_.advance(current_);
      phase_ = Phase::Collect;
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

template <class T>
void TrainerLoop<T>::drain() {
  Worker::drain();
  // Whoever drains the trainer has checkpointed already or does not want one.
  if (phase_ != Phase::LastCheckpoint) phase_ = Phase::Done;
}

template <class T>
void TrainerLoop<T>::drop_unused(Counter& reason) {
  reason.add(static_cast<int64_t>(batch_.size() + ahead_.size()));
  batch_.clear();
  ahead_.clear();
}

template <class T>
Status TrainerLoop<T>::announce() {
  auto weights = std::make_shared<Weights>(learner_->weights());
  weights->tag = tag_of(*weights);
  current_ = weights->tag;
  RETURN_IF_ERROR(weights_.publish(weights, current_));
  versions_.add();
  run_.report("version", static_cast<double>(version_));
  run_.report("incarnation", static_cast<double>(incarnation_));
  return {};
}

template <class T>
Result<StepResult> TrainerLoop<T>::collect() {
  if (run_is_over()) {
    run_.request_checkpoint(version_, &waker_);
    phase_ = Phase::LastCheckpoint;
    return StepResult::progress();
  }
  RETURN_IF_ERROR(samples_.drop_stale(ahead_));
  if (const int64_t missing = options_.batch - static_cast<int64_t>(ahead_.size()); missing > 0) {
    RETURN_IF_ERROR(take_ahead(missing));
    if (static_cast<int64_t>(ahead_.size()) < options_.batch) return StepResult::idle();
  }
  const auto end = ahead_.begin() + options_.batch;
  std::vector<Item<T>> items(std::move_iterator(ahead_.begin()), std::move_iterator(end));
  ahead_.erase(ahead_.begin(), end);
  RETURN_IF_ERROR(begin(std::move(items)));
  phase_ = Phase::Learn;
  return StepResult::progress();
}

template <class T>
Status TrainerLoop<T>::begin(std::vector<Item<T>> items) {
  arrange(items);
  batch_ = std::move(items);
  std::vector<std::shared_ptr<const T>> values;
  batch_staleness_ = 0;
  for (const auto& item : batch_) {
    // Staleness counts from the moment of use, so prefetched batches show their age.
    const auto behind = static_cast<double>(staleness(current_, item.info.versions));
    staleness_.observe(behind);
    batch_staleness_ += behind / static_cast<double>(batch_.size());
    note(*item.value);
    values.push_back(item.value);
  }
  return learner_->begin(values);
}

template <class T>
Status TrainerLoop<T>::take_ahead(int64_t items) {
  ASSIGN_OR_RETURN(auto taken, samples_.try_take(items));
  std::move(taken.begin(), taken.end(), std::back_inserter(ahead_));
  return {};
}

template <class T>
Result<StepResult> TrainerLoop<T>::learn() {
  const auto held = static_cast<int64_t>(ahead_.size());
  if (held + options_.batch <= options_.prefetch * options_.batch) {
    RETURN_IF_ERROR(take_ahead(options_.batch));
  }
  ASSIGN_OR_RETURN(const bool more, learner_->step());
  if (!more) finish_version();
  return StepResult::progress();
}

template <class T>
void TrainerLoop<T>::finish_version() {
  const int64_t steps = steps_of(batch_);
  batch_.clear();
  steps_ += steps;
  trained_steps_.add(steps);
  ++version_;

  const TimeNs now = clock_.now();
  began_steps_ += steps;
  if (now > began_) {
    rate_ = static_cast<double>(began_steps_) * 1e9 / static_cast<double>(now - began_);
  }
  run_.report("steps", static_cast<double>(steps_));
  run_.report("steps_per_second", rate_);
  run_.report("staleness", batch_staleness_);
  report(run_);
  for (const auto& [name, value] : learner_->stats()) run_.report(name, value);

  const bool due = options_.checkpoint_every > 0 && version_ % options_.checkpoint_every == 0;
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

template <class T>
Status TrainerLoop<T>::save(Snapshot& out) const {
  out.put_value("version", version_);
  out.put_value("incarnation", incarnation_);
  out.put_value("steps", steps_);
  Snapshot learner;
  RETURN_IF_ERROR(learner_->save(learner));
  out.put("learner", learner.encode());
  return {};
}

template <class T>
Status TrainerLoop<T>::load(const Snapshot& in) {
  RETURN_IF_ERROR(in.get_value("version", version_));
  uint32_t before = 0;
  RETURN_IF_ERROR(in.get_value("incarnation", before));
  incarnation_ += before + 1;  // nobody can mistake what comes now for what the lost trainer made
  RETURN_IF_ERROR(in.get_value("steps", steps_));
  ASSIGN_OR_RETURN(const auto bytes, in.get("learner"));
  ASSIGN_OR_RETURN(const Snapshot learner, Snapshot::decode(bytes));
  RETURN_IF_ERROR(learner_->load(learner));
  // A run that has nothing left to do still says how far it is.
  run_.report("steps", static_cast<double>(steps_));
  return {};
}

}  // namespace sluice
