#include "dataflow/placement/local_launcher.h"

#include "dataflow/base/log.h"

#include <algorithm>
#include <atomic>

namespace sluice {
namespace {

/// Shutdown stages: sources first, then what serves them, then the trainer, and last whoever still
/// wants to look at the final weights.
int stage_of(const WorkerDecl& decl) {
  const std::string_view role = decl.role;
  if (role == "trainer") return 2;
  // Who asks a service drains before it.
  if (role == "evaluator") return decl.of(Verb::Asks).empty() ? 3 : 0;
  if (role == "inference" || role == "buffer" || role == "reward") return 1;
  return 0;
}

}  // namespace

/// Routes every channel to the in-process transport.
class LocalLauncher::Opener final : public ChannelOpener {
 public:
  Opener(const Graph& graph, const Placement& placement, uint64_t seed, Transport& transport)
      : graph_(graph), placement_(placement), seed_(seed), transport_(transport) {}

  Result<Route<StreamSpec>> stream(std::string_view channel, const ReplicaId& who) override {
    ASSIGN_OR_RETURN(const ChannelDecl* decl, find(channel));
    const uint64_t seed = RandomKey(seed_).split("stream").split(channel).value();
    return Route<StreamSpec>{
        &transport_, {instance(channel, who), decl->payload, decl->stream, senders(channel), seed}};
  }
  Result<Route<ServiceSpec>> service(std::string_view channel, const ReplicaId& who) override {
    ASSIGN_OR_RETURN(const ChannelDecl* decl, find(channel));
    ServicePolicy policy = decl->service;
    // On one thread no further request can arrive while the server waits for it.
    if (on_one_loop(*decl)) policy.batch_within_us = 0;
    return Route<ServiceSpec>{&transport_,
                              {instance(channel, who), decl->payload, policy, senders(channel)}};
  }
  Result<Route<LatestSpec>> latest(std::string_view channel, const ReplicaId& who) override {
    ASSIGN_OR_RETURN(const ChannelDecl* decl, find(channel));
    return Route<LatestSpec>{&transport_, {instance(channel, who), decl->payload, decl->latest}};
  }

 private:
  Result<const ChannelDecl*> find(std::string_view channel) const {
    const ChannelDecl* decl = graph_.channel(channel);
    if (decl == nullptr) return error(Code::NotFound, "the graph has no channel '{}'", channel);
    return decl;
  }
  std::string instance(std::string_view channel, const ReplicaId& who) const {
    return placement_.channel_instance(graph_, channel, who.replica);
  }
  int64_t senders(std::string_view channel) const { return placement_.senders(graph_, channel); }
  bool on_one_loop(const ChannelDecl& decl) const {
    std::string host;
    for (const Verb verb : {Verb::Asks, Verb::Serves}) {
      for (const auto& worker : graph_.users(verb, decl)) {
        const std::string its = placement_.host(worker);
        if (!host.empty() && its != host) return false;
        host = its;
      }
    }
    return true;
  }

  const Graph& graph_;
  const Placement& placement_;
  uint64_t seed_;
  Transport& transport_;
};

LocalLauncher::LocalLauncher(const Graph& graph, const Placement& placement, LaunchOptions options)
    : graph_(graph),
      placement_(placement),
      options_(std::move(options)),
      transport_(options_.clock, options_.metrics),
      opener_(std::make_unique<Opener>(graph, placement, options_.seed, transport_)),
      control_({.clock = options_.clock,
                .metrics = options_.metrics,
                .step_deadline = options_.step_deadline}) {
  add_loops();
}

LocalLauncher::~LocalLauncher() = default;

void LocalLauncher::add_loops() {
  for (const auto& host : graph_.workers()) {
    if (placement_.host(host->name) != host->name) continue;
    std::vector<const WorkerDecl*> together{host.get()};
    for (const auto& guest : graph_.workers()) {
      if (guest != host && placement_.host(guest->name) == host->name)
        together.push_back(guest.get());
    }
    for (int64_t replica = 0; replica < placement_.replicas(host->name); ++replica) {
      LoopSpec loop;
      for (const WorkerDecl* decl : together) {
        loop.name += fmt::format("{}{}/{}", loop.name.empty() ? "" : "+", decl->name, replica);
      }
      loop.stage = stage_of(*host);
      loop.restart = options_.restart;
      loop.essential = std::any_of(together.begin(), together.end(),
                                   [](const WorkerDecl* decl) { return decl->role == "trainer"; });
      loop.make = [this, together, replica,
                   before = std::make_shared<std::atomic<Waker*>>(nullptr)](
                      Waker& waker, int attempt) -> Result<std::vector<HostedWorker>> {
        // Another waker means that the last attempt hangs on a thread of its own: what it holds of
        // the channels (permits, questions) must not be waited for.
        Waker* const last = before->exchange(&waker);
        if (last != nullptr && last != &waker) transport_.lose(*last);
        std::vector<HostedWorker> made;
        for (const WorkerDecl* decl : together) {
          ASSIGN_OR_RETURN(auto one, make_worker(*decl, replica, waker, attempt));
          made.push_back(std::move(one));
        }
        return made;
      };
      control_.add(std::move(loop));
    }
  }
}

Result<HostedWorker> LocalLauncher::make_worker(const WorkerDecl& decl, int64_t replica,
                                                Waker& waker, int attempt) {
  auto where = std::make_shared<Whereabouts>();
  WorkerContext context({.who = {decl.name, replica},
                         .replicas = placement_.replicas(decl.name),
                         .threads = placement_.threads(decl.name),
                         .attempt = attempt,
                         .seed = options_.seed,
                         .ports = graph_.ports(decl.name),
                         .clock = &options_.clock,
                         .waker = &waker,
                         .metrics = &options_.metrics,
                         .run = &options_.run,
                         .opener = opener_.get(),
                         .where = where});
  HostedWorker hosted;
  hosted.name = fmt::format("{}/{}", decl.name, replica);
  auto made = decl.make(context);
  if (!made.ok()) return made.status().with_context(hosted.name);
  hosted.worker = *std::move(made);
  hosted.where = std::move(where);
  const auto state = state_for(decl, hosted.name, attempt);
  if (state.ok()) {
    RETURN_IF_ERROR(hosted.worker->load(*state).with_context(hosted.name +
                                                             ": cannot take over its saved state"));
  } else if (state.status().code() != Code::NotFound) {
    return state.status().with_context(hosted.name);
  }
  return hosted;
}

Result<Snapshot> LocalLauncher::state_for(const WorkerDecl& decl, const std::string& name,
                                          int attempt) {
  if (attempt == 0) {
    const auto found = options_.restored.find(name);
    if (found == options_.restored.end()) return error(Code::NotFound, "nothing to restore");
    return found->second;
  }
  if (decl.role != "trainer" || !options_.last_checkpoint)
    return error(Code::NotFound, "comes back empty");
  auto checkpoint = options_.last_checkpoint();
  if (!checkpoint.ok()) {
    log(LogLevel::Warning, "{} comes back without its state: {}", name,
        checkpoint.status().message());
    return error(Code::NotFound, "no checkpoint");
  }
  const auto found = checkpoint->find(name);
  if (found == checkpoint->end()) return error(Code::NotFound, "not in the checkpoint");
  return found->second;
}

}  // namespace sluice
