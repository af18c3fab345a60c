#pragma once
#include "dataflow/graph/graph.h"

#include <memory>
#include <string>
#include <vector>

/// Tiny payloads and worker specs for the tests of this folder.
namespace sluice::testing {

struct Obs {
  static constexpr std::string_view kPayloadName = "Obs";
};
struct Act {
  static constexpr std::string_view kPayloadName = "Act";
};
struct Traj {
  static constexpr std::string_view kPayloadName = "Traj";
};
struct Params {
  static constexpr std::string_view kPayloadName = "Params";
};

struct NothingWorker : Worker {
  Result<StepResult> step() override { return StepResult::finished(); }
};

struct Rollout {
  static constexpr std::string_view kRole = "rollout";
  using Asks = Ports<Service<Obs, Act>>;
  using Writes = Ports<Stream<Traj>>;

  int64_t obs_size = 4;
  int64_t horizon = 16;

  void bind(ConfigBinder& b) { b.field("horizon", horizon, "steps per chunk", Range::at_least(1)); }
  void check(std::vector<std::string>& problems) const {
    if (horizon < 1) problems.emplace_back("horizon must be at least 1");
  }
  [[nodiscard]] PortSchemas schemas() const {
    return PortSchemas{}
        .asks(0, {{"obs", DType::F32, {obs_size}}, {"slot", DType::I64, {}}},
              {{"action", DType::I64, {}}})
        .writes(0, {{"reward", DType::F32, {}}});
  }
  [[nodiscard]] int64_t memory_bytes() const { return 2048; }
  Result<std::unique_ptr<Worker>> make(WorkerContext& context) const {
    ASSIGN_OR_RETURN(auto writer, context.writer<Traj>());
    return std::unique_ptr<Worker>(std::make_unique<NothingWorker>());
  }
};

struct Policy {
  static constexpr std::string_view kRole = "inference";
  using Serves = Ports<Service<Obs, Act>>;
  using Follows = Ports<Optional<Latest<Params>>>;

  int64_t obs_size = 4;

  [[nodiscard]] PortSchemas schemas() const {
    return PortSchemas{}.serves(0, {{"obs", DType::F32, {obs_size}}}, {{"action", DType::I64, {}}});
  }
  Result<std::unique_ptr<Worker>> make(WorkerContext&) const {
    return std::unique_ptr<Worker>(std::make_unique<NothingWorker>());
  }
};

struct Buffer {
  static constexpr std::string_view kRole = "buffer";
  using Reads = Ports<Stream<Traj>>;
  using Writes = Ports<Stream<Traj>>;

  Result<std::unique_ptr<Worker>> make(WorkerContext&) const {
    return std::unique_ptr<Worker>(std::make_unique<NothingWorker>());
  }
};

struct Trainer {
  static constexpr std::string_view kRole = "trainer";
  using Reads = Ports<Many<Stream<Traj>>>;
  using Publishes = Ports<Latest<Params>>;

  Result<std::unique_ptr<Worker>> make(WorkerContext&) const {
    return std::unique_ptr<Worker>(std::make_unique<NothingWorker>());
  }
};

/// A graph that check() accepts.
inline Graph good_graph() {
  Graph g{"ppo"};
  auto act = g.service<Obs, Act>("act").batch(up_to(8), within(std::chrono::milliseconds(1)));
  auto samples = g.stream<Traj>("samples").capacity(64);
  auto weights = g.latest<Params>("weights");
  g.add("rollout", Rollout{}).asks(act).writes(samples);
  g.add("policy", Policy{}).serves(act).follows(weights);
  g.add("trainer", Trainer{}).reads(samples).publishes(weights);
  return g;
}

}  // namespace sluice::testing
