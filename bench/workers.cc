#include "bench/workers.h"

#include "dataflow/types/pool.h"
#include "envs/registry.h"

#include <algorithm>

namespace sluice::bench {
namespace {

class ZeroPolicyWorker final : public Worker {
 public:
  explicit ZeroPolicyWorker(ServiceServer<Observation, Action> server)
      : server_(std::move(server)) {}

  Result<StepResult> step() override {
    if (server_.ended() || (draining() && server_.next_due() == kForever)) {
      server_.close();
      return StepResult::finished();
    }
    if (!server_.try_take(batch_)) return StepResult::idle(server_.next_due());
    for (auto& call : batch_) {
      call->response.count = call->request.count;
      server_.answer(std::move(call));
    }
    return StepResult::progress();
  }

 private:
  ServiceServer<Observation, Action> server_;
  std::vector<std::unique_ptr<Exchange<Observation, Action>>> batch_;
};

class AskerWorker final : public Worker {
 public:
  AskerWorker(const Asker& spec, ServiceClient<Observation, Action> client,
              std::unique_ptr<Exchange<Observation, Action>> call)
      : spec_(spec), client_(std::move(client)), call_(std::move(call)) {
    spec_.times->microseconds.reserve(static_cast<size_t>(spec_.questions));
  }

  Result<StepResult> step() override {
    const RealClock& clock = RealClock::instance();
    auto& found = spec_.times->microseconds;
    if (!call_) {
      call_ = client_.try_collect();
      if (!call_) return StepResult::idle(client_.next_deadline());
      found.push_back(static_cast<double>(clock.now() - asked_) * 1e-3);
      if (static_cast<int64_t>(found.size()) == spec_.questions) {
        spec_.times->done.store(true, std::memory_order_release);
      }
    }
    if (draining() || static_cast<int64_t>(found.size()) == spec_.questions) {
      client_.close();
      return StepResult::finished();
    }
    call_->request.count = 1;
    asked_ = clock.now();
    client_.try_ask(call_);
    return StepResult::progress();
  }

 private:
  Asker spec_;
  ServiceClient<Observation, Action> client_;
  std::unique_ptr<Exchange<Observation, Action>> call_;
  TimeNs asked_ = 0;
};

class SourceWorker final : public Worker {
 public:
  SourceWorker(const ChunkSource& spec, StreamWriter<Trajectory> out)
      : spec_(spec), out_(std::move(out)), pool_([spec] {
          auto made = std::make_unique<Trajectory>();
          made->steps = Batch(Trajectory::schema(Schema{{"obs", DType::F32, {spec.width}}},
                                                 TensorSpec{"action", DType::I64, {}}),
                              spec.horizon);
          return made;
        }) {}

  Result<StepResult> step() override {
    if (draining() || out_.closed()) {
      out_.close();
      return StepResult::finished();
    }
    for (int i = 0; i < kPerStep; ++i) {
      if (!held_) held_ = next_chunk();
      const PutResult put = out_.try_put(held_, {});
      if (put == PutResult::Full) return i == 0 ? StepResult::idle() : StepResult::progress();
      held_ = nullptr;
    }
    return StepResult::progress();
  }

 private:
  static constexpr int kPerStep = 64;

  std::shared_ptr<const Trajectory> next_chunk() {
    auto chunk = pool_.acquire();
    chunk->number = number_++;
    if (spec_.fill) {
      auto* obs = chunk->steps.data<float>(0);
      std::fill(obs, obs + spec_.width * spec_.horizon, static_cast<float>(chunk->number % 1000));
    }
    return chunk;
  }

  ChunkSource spec_;
  StreamWriter<Trajectory> out_;
  Pool<Trajectory> pool_;
  std::shared_ptr<const Trajectory> held_;
  int64_t number_ = 0;
};

class SinkWorker final : public Worker {
 public:
  SinkWorker(const ChunkSink& spec, StreamReader<Trajectory> in)
      : spec_(spec), in_(std::move(in)) {}

  Result<StepResult> step() override {
    if (draining() || in_.ended()) {
      in_.close();
      return StepResult::finished();
    }
    ASSIGN_OR_RETURN(const auto items, in_.try_take(spec_.batch));
    if (items.empty()) return StepResult::idle();
    int64_t steps = 0;
    int64_t wrong = 0;
    for (const auto& item : items) {
      steps += item.value->steps.rows();
      wrong += item.info.sequence == next_ ? 0 : 1;
      next_ = item.info.sequence + 1;
    }
    spec_.seen->chunks.fetch_add(static_cast<int64_t>(items.size()), std::memory_order_relaxed);
    spec_.seen->steps.fetch_add(steps, std::memory_order_relaxed);
    spec_.seen->out_of_order.fetch_add(wrong, std::memory_order_relaxed);
    return StepResult::progress();
  }

 private:
  ChunkSink spec_;
  StreamReader<Trajectory> in_;
  int64_t next_ = 0;
};

}  // namespace

Result<std::unique_ptr<Worker>> ZeroPolicy::make(WorkerContext& context) const {
  ASSIGN_OR_RETURN(auto server, (context.server<Observation, Action>()));
  return std::unique_ptr<Worker>(std::make_unique<ZeroPolicyWorker>(std::move(server)));
}

Result<std::unique_ptr<Worker>> Asker::make(WorkerContext& context) const {
  ASSIGN_OR_RETURN(const EnvSpec env, env_spec("null"));
  ASSIGN_OR_RETURN(auto client, (context.client<Observation, Action>()));
  auto call = std::make_unique<Exchange<Observation, Action>>();
  call->request.rows = Batch(Observation::schema(env.observation), 1);
  call->response.rows = Batch(Action::schema(env.action.tensor()), 1);
  return std::unique_ptr<Worker>(
      std::make_unique<AskerWorker>(*this, std::move(client), std::move(call)));
}

Result<std::unique_ptr<Worker>> ChunkSource::make(WorkerContext& context) const {
  ASSIGN_OR_RETURN(auto writer, context.writer<Trajectory>());
  return std::unique_ptr<Worker>(std::make_unique<SourceWorker>(*this, std::move(writer)));
}

Result<std::unique_ptr<Worker>> ChunkSink::make(WorkerContext& context) const {
  ASSIGN_OR_RETURN(auto reader, context.reader<Trajectory>());
  return std::unique_ptr<Worker>(std::make_unique<SinkWorker>(*this, std::move(reader)));
}

}  // namespace sluice::bench
