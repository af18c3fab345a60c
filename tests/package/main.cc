// A program of somebody else's: workers of its own in a graph, and channels with policies.
#include "dataflow/flow.h"

#include <cstdio>

namespace {

using namespace sluice;  // a program of this size may

struct Source {
  static constexpr std::string_view kRole = "rollout";
  using Asks = Ports<Service<Observation, Action>>;
  using Writes = Ports<Stream<Trajectory>>;

  int64_t steps = 8;
  void bind(ConfigBinder& b) { b.field("steps", steps, "steps per chunk", Range::at_least(1)); }
  Result<std::unique_ptr<Worker>> make(WorkerContext& /*context*/) const {
    return error(Code::Unimplemented, "only checked");
  }
};

struct Server {
  static constexpr std::string_view kRole = "inference";
  using Serves = Ports<Service<Observation, Action>>;
  using Follows = Ports<Latest<Weights>>;
  Result<std::unique_ptr<Worker>> make(WorkerContext& /*context*/) const {
    return error(Code::Unimplemented, "only checked");
  }
};

struct Learner {
  static constexpr std::string_view kRole = "trainer";
  using Reads = Ports<Stream<Trajectory>>;
  using Publishes = Ports<Latest<Weights>>;
  Result<std::unique_ptr<Worker>> make(WorkerContext& /*context*/) const {
    return error(Code::Unimplemented, "only checked");
  }
};

Graph mine(bool complete) {
  Graph g{"mine"};
  auto act = g.service<Observation, Action>("act").batch(up_to(8), within(1ms));
  auto samples = g.stream<Trajectory>("samples").capacity(8).admit_ahead(0, 8);
  auto weights = g.latest<Weights>("weights");
  g.add("source", Source{}).asks(act).writes(samples);
  g.add("server", Server{}).serves(act).follows(weights);
  if (complete) g.add("learner", Learner{}).reads(samples).publishes(weights);
  return g;
}

}  // namespace

int main() {
  Placement placement;
  placement.put("source", 4);
  placement.together("server", "source");
  const Status good = mine(true).check(placement);
  const Status bad = mine(false).check(placement);
  std::printf("complete: %s\nincomplete: %s\n", good.to_string().c_str(), bad.to_string().c_str());
  const Batch batch({{"observation", DType::F32, {4}}}, 8);
  const bool told = bad.message().find("samples") != std::string::npos;
  return good.ok() && !bad.ok() && told && batch.bytes() == 8 * 4 * 4 ? 0 : 1;
}
