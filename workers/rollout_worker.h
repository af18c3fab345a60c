#pragma once
#include "dataflow/base/metrics.h"
#include "dataflow/base/worker.h"
#include "dataflow/graph/ports.h"
#include "dataflow/graph/worker_context.h"
#include "dataflow/types/control.h"
#include "dataflow/types/pool.h"
#include "dataflow/types/trajectory.h"
#include "workers/env_ring.h"

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace sluice {

/// What a rollout does when an environment hands out NaN or Inf.
enum class OnBadStep : uint8_t {
  Abort,       ///< the worker fails (and is restarted within its budget)
  DropEpisode  ///< the chunk under way is thrown away, counted, and a new episode starts
};

/// Runs a ring of environments against a policy service and writes chunks of `horizon` steps.
///
///   g.add("rollout", Rollout{.env = "CartPole-v1", .ring = 64, .horizon =
///   128}).asks(act).writes(samples);
struct Rollout {
  static constexpr std::string_view kRole = "rollout";
  using Asks = Ports<Service<Observation, Action>>;
  using Writes = Ports<Stream<Trajectory>>;

  std::string env = "CartPole-v1";
  int64_t ring = 64;              ///< environments per replica
  int64_t horizon = 128;          ///< steps per chunk
  int64_t flush_ready = 0;        ///< ask when so many slots are ready; 0 = with whatever is ready
  int64_t flush_within_us = 200;  ///< or when the first of them has waited so long
  OnBadStep on_bad_step = OnBadStep::Abort;

  void bind(ConfigBinder& b);
  void check(std::vector<std::string>& problems) const;
  [[nodiscard]] PortSchemas schemas() const;
  [[nodiscard]] int64_t memory_bytes() const;
  Result<std::unique_ptr<Worker>> make(WorkerContext& context) const;
};

/// Any slot that is ready is served, in the order answers come back: a slow environment or a late
/// answer holds up its own slot only. Chunks start when the stream admits them, end with the value
/// of the observation behind their last step, and carry the span of policy versions that acted in
/// them. A truncated episode is bootstrapped from the value of its final observation.
class RolloutWorker final : public Worker {
 public:
  RolloutWorker(const Rollout& spec, EnvRing ring, WorkerContext& context,
                ServiceClient<Observation, Action> act, StreamWriter<Trajectory> samples);
  /// Chunks under way are counted as lost.
  ~RolloutWorker() override;

  Result<StepResult> step() override;
  Status save(Snapshot& out) const override { return ring_.save(out); }
  Status load(const Snapshot& in) override { return ring_.load(in); }

 private:
  using Call = Exchange<Observation, Action>;
  bool collect_answers(Status& failure);
  Status deliver(const Call& call);
  Status ask_again(const Call& call);
  Status act(int64_t i, const Action& action, int64_t row);
  Status bootstrap(int64_t i, float value);
  void finish_chunk(int64_t i);
  [[nodiscard]] bool may_drop(const Status& status) const;
  void note_dropped(int64_t i, const Status& why);
  Status open_chunk(int64_t i, std::shared_ptr<Trajectory> chunk);
  void count_given_up(Counter& reason);
  bool submit_finished();
  Status open_admitted(bool& progress);
  bool ask(TimeNs now);
  void want(int64_t i, bool action);
  std::unique_ptr<Call> blank_call();
  std::vector<int64_t> take_asked(int64_t question);

  Rollout spec_;
  std::string name_;
  EnvRing ring_;
  Clock& clock_;
  ServiceClient<Observation, Action> service_;
  StreamWriter<Trajectory> samples_;
  Pool<Trajectory> pool_;
  int64_t fields_;
  std::vector<uint8_t>
      want_action_;             ///< per slot; 0: the next question is for a bootstrap value only
  std::vector<int64_t> ready_;  ///< slots to be asked about, first come first served
  TimeNs ready_since_ = 0;
  std::vector<int64_t> waiting_;  ///< slots between two chunks, for want of a permit
  struct Finished {
    int64_t slot;
    std::shared_ptr<const Trajectory> chunk;
  };
  std::deque<Finished> finished_;  ///< chunks the stream had no room for yet
  std::vector<std::unique_ptr<Call>> spare_;
  /// Which slots each question under way is about: one that fails comes back empty.
  struct Asked {
    int64_t question = 0;
    std::vector<int64_t> slots;
  };
  std::vector<Asked> in_flight_;
  std::vector<int64_t> spare_slots_;
  int64_t next_question_ = 0;  ///< the id that the client gives the next question
  int64_t permits_ = 0;
  bool over_ = false;

  Counter& steps_;
  Counter& episodes_;
  Counter& dropped_;
  Counter& reissued_;
  Counter& given_up_;
  Counter& lost_;
};

}  // namespace sluice
