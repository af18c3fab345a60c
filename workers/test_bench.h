#pragma once
#include "dataflow/base/worker.h"
#include "dataflow/graph/worker_context.h"
#include "dataflow/transport/local_transport.h"
#include "dataflow/types/control.h"
#include "dataflow/types/trajectory.h"
#include "dataflow/types/weights.h"
#include "envs/registry.h"
#include "models/nets/actor_critic.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// What the tests of this folder drive workers with: channels in process, virtual time, no threads.
namespace sluice::testing {

/// An environment whose observation is the number of steps of its episode, and which ends each
/// episode at a given step.
class ScriptedEnv final : public Env {
 public:
  ScriptedEnv(std::string name, int64_t ends_at, bool truncates)
      : spec_{std::move(name),
              {TensorSpec{"obs", DType::F32, {1}}},
              ActionSpec::discrete(2),
              0,
              {}},
        ends_at_(ends_at),
        truncates_(truncates) {}

  [[nodiscard]] const EnvSpec& spec() const noexcept override { return spec_; }
  Status reset(std::optional<uint64_t> /*seed*/, ObservationOut out) override {
    steps_ = 0;
    observe(out);
    return {};
  }
  Status step(const void* /*action*/, ObservationOut out, Transition& t) override {
    ++steps_;
    t = {static_cast<float>(steps_), false, false};
    if (steps_ == ends_at_) (truncates_ ? t.truncated : t.terminated) = true;
    observe(out);
    return {};
  }
  [[nodiscard]] std::string save() const override {
    return {reinterpret_cast<const char*>(&steps_), sizeof steps_};
  }
  Status load(std::string_view state) override {
    std::memcpy(&steps_, state.data(), sizeof steps_);
    return {};
  }

 private:
  void observe(ObservationOut out) const {
    const auto value = static_cast<float>(steps_);
    std::memcpy(out[0], &value, sizeof value);
  }
  EnvSpec spec_;
  int64_t ends_at_;
  bool truncates_;
  int64_t steps_ = 0;
};

/// Registers a ScriptedEnv once and returns its name. `ends_at` 0: never.
inline std::string scripted(int64_t ends_at, bool truncates) {
  const std::string name =
      "scripted-" + std::to_string(ends_at) + (truncates ? "-truncates" : "-terminates");
  static std::map<std::string, bool> known;
  if (!std::exchange(known[name], true)) {
    EXPECT_TRUE(register_env(name, [name, ends_at, truncates] {
                  return std::make_unique<ScriptedEnv>(name, ends_at, truncates);
                }).ok());
  }
  return name;
}

inline VersionTag version(int64_t step, uint32_t incarnation = 0) {
  return {1, incarnation, step, static_cast<uint64_t>(step) + 7};
}

/// Weights that a PolicyModel of this spec takes.
inline std::shared_ptr<Weights> weights_of(const ActorCriticSpec& spec, int64_t step,
                                           uint64_t seed = 1) {
  const ActorCritic net(spec, RandomKey(seed));
  auto out = std::make_shared<Weights>();
  for (const auto& entry : net.parameters().entries()) {
    out->tensors.emplace_back(entry.name, net.parameters().view(entry).clone());
  }
  out->tag = {1, 0, step, out->digest()};
  return out;
}

/// Channels "act", "samples", "fresh" and "weights", and contexts for workers on them. The test
/// holds the other ends, opened with a waker of their own.
class Bench : public ChannelOpener {
 public:
  VirtualClock clock;
  MetricRegistry metrics;
  RunControl run;
  LocalTransport transport{clock, metrics};
  Waker waker;       ///< of the worker under test
  Waker test_waker;  ///< of the test's own ends
  StreamSpec samples{"samples", "Trajectory", {}, 1, 1};
  StreamSpec fresh{"fresh", "Trajectory", {}, 1, 1};
  ServiceSpec act{"act", "Observation -> Action", {}, 1};
  LatestSpec weights{"weights", "Weights"};

  Bench() = default;
  explicit Bench(RunControl::Info info) : run(std::move(info)) {}

  WorkerContext context(std::vector<std::pair<Verb, std::string>> ports, int64_t attempt = 0) {
    PortChannels channels;
    for (auto& [verb, name] : ports) channels.of(verb).push_back(std::move(name));
    return WorkerContext({.who = {"w", 0},
                          .replicas = 1,
                          .threads = 1,
                          .attempt = attempt,
                          .seed = 3,
                          .ports = std::move(channels),
                          .clock = &clock,
                          .waker = &waker,
                          .metrics = &metrics,
                          .run = &run,
                          .opener = this});
  }

  StreamReader<Trajectory> reader(const StreamSpec& spec) {
    return StreamReader<Trajectory>(*transport.open_reader(spec, test_waker));
  }
  StreamWriter<Trajectory> writer(const StreamSpec& spec) {
    return StreamWriter<Trajectory>(*transport.open_writer(spec, test_waker));
  }
  ServiceServer<Observation, Action> server() {
    return ServiceServer<Observation, Action>(*transport.open_server(act, test_waker));
  }
  ServiceClient<Observation, Action> client() {
    return ServiceClient<Observation, Action>(*transport.open_client(act, test_waker));
  }
  LatestPublisher<Weights> publisher() {
    return LatestPublisher<Weights>(*transport.open_publisher(weights, test_waker));
  }
  LatestFollower<Weights> follower() {
    return LatestFollower<Weights>(*transport.open_follower(weights, test_waker));
  }

  /// The sum over all labels.
  double metric(std::string_view name) const {
    double sum = 0;
    for (const MetricSample& sample : metrics.snapshot()) {
      if (sample.name == name) sum += sample.value;
    }
    return sum;
  }

  double metric(std::string_view name, const Labels& labels) const {
    for (const MetricSample& sample : metrics.snapshot()) {
      if (sample.name == name && sample.labels == labels) return sample.value;
    }
    return 0;
  }

  Result<Route<StreamSpec>> stream(std::string_view channel, const ReplicaId& /*who*/) override {
    return Route<StreamSpec>{&transport, channel == "fresh" ? fresh : samples};
  }
  Result<Route<ServiceSpec>> service(std::string_view /*channel*/,
                                     const ReplicaId& /*who*/) override {
    return Route<ServiceSpec>{&transport, act};
  }
  Result<Route<LatestSpec>> latest(std::string_view /*channel*/,
                                   const ReplicaId& /*who*/) override {
    return Route<LatestSpec>{&transport, weights};
  }
};

/// Steps a worker until it has nothing to do (or 1000 times); its last result.
inline Result<StepResult> settle(Worker& worker) {
  for (int i = 0; i < 1000; ++i) {
    Result<StepResult> result = worker.step();
    if (!result.ok() || result->kind != StepResult::Kind::Progress) return result;
  }
  return StepResult::progress();
}
/// The same where a failure is a failure of the test.
inline void settle_well(Worker& worker) {
  const auto result = settle(worker);
  EXPECT_TRUE(result.ok()) << result.status().message();
}

}  // namespace sluice::testing
