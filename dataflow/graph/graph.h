#pragma once
#include "dataflow/base/config.h"
#include "dataflow/graph/placement.h"
#include "dataflow/graph/ports.h"
#include "dataflow/graph/worker_decl.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

/// Channels and workers, and who does what with which channel. Says nothing about where anything
/// runs: that is the Placement's. Channels come first, so a cycle needs no special construct.
///
///   Graph g{"ppo"};
///   auto act     = g.service<Observation, Action>("act").batch(up_to(64), within(1ms));
///   auto samples = g.stream<Trajectory>("samples").capacity(64);
///   auto weights = g.latest<Weights>("weights");
///   g.add("rollout", Rollout{..}).asks(act).writes(samples);
///   g.add("policy",  Policy{..}).serves(act).follows(weights);
///   g.add("trainer", Trainer{..}).reads(samples).publishes(weights);
///
/// Declaring never fails: check() lists everything that is wrong, before anything starts. Used by
/// one thread until the run starts; immutable afterwards. Moves; handles stay valid.
class Graph {
 public:
  explicit Graph(std::string name) : name_(std::move(name)) {}

  template <class T>
  Stream<T> stream(std::string name) {
    return Stream<T>(declare(ChannelKind::Stream, std::move(name), Stream<T>::payload()));
  }
  template <class Req, class Rep>
  Service<Req, Rep> service(std::string name) {
    return Service<Req, Rep>(
        declare(ChannelKind::Service, std::move(name), Service<Req, Rep>::payload()));
  }
  template <class T>
  Latest<T> latest(std::string name) {
    return Latest<T>(declare(ChannelKind::Latest, std::move(name), Latest<T>::payload()));
  }
  template <class W>
  WorkerHandle<W> add(std::string name, W spec) {
    workers_.push_back(wiring::declare<W>(std::move(name), std::move(spec)));
    return WorkerHandle<W>(workers_.back().get());
  }

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const std::vector<std::unique_ptr<ChannelDecl>>& channels() const noexcept {
    return channels_;
  }
  [[nodiscard]] const std::vector<std::unique_ptr<WorkerDecl>>& workers() const noexcept {
    return workers_;
  }
  /// By name; null when there is none.
  [[nodiscard]] const ChannelDecl* channel(std::string_view name) const;
  [[nodiscard]] const WorkerDecl* worker(std::string_view name) const;
  /// Names of the workers that use a channel with that verb.
  [[nodiscard]] std::vector<std::string> users(Verb verb, const ChannelDecl& channel) const;
  /// Channel names on a worker's ports, for WorkerContext::Setup. The worker must exist (checked).
  [[nodiscard]] PortChannels ports(std::string_view worker) const;

  /// Every problem of the graph under this placement, in plain words; empty when it can run.
  [[nodiscard]] std::vector<std::string> problems(const Placement& placement) const;
  /// OK, or InvalidArgument with all problems, one a line.
  [[nodiscard]] Status check(const Placement& placement) const;

  /// Graphviz. Streams are solid, services dashed, latest values dotted; edges carry the policies.
  [[nodiscard]] std::string dot() const;
  /// What --dry-run prints. The graph should have passed check().
  [[nodiscard]] std::string describe(const Placement& placement) const;

  /// Makes every setting of workers and channels a key "<worker>.<field>" or "<channel>.<field>".
  /// The binder must not outlive the graph.
  void bind(ConfigBinder& b);

 private:
  ChannelDecl* declare(ChannelKind kind, std::string name, std::string payload);

  std::string name_;
  std::vector<std::unique_ptr<ChannelDecl>> channels_;
  std::vector<std::unique_ptr<WorkerDecl>> workers_;
};

}  // namespace sluice
