#pragma once
#include "dataflow/base/config.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

class Graph;

/// Where a graph runs: how many replicas of each worker, on how many threads, and which workers
/// share a loop thread. Workers that are not named have one replica on a loop of their own.
///
///   Placement p;
///   p.put("rollout", 4).threads(1);
///   p.together("policy", "rollout");   // policy replica i on the loop of rollout replica i
///
/// A worker placed together with a host has as many replicas as the host. A service between workers
/// of one such group is then paired: replica i asks replica i only (see channel_instance()).
class Placement {
 public:
  struct Entry {
    int64_t replicas = 0;  ///< 0 = not said: as many as the host has, or 1
    int64_t threads = 1;   ///< threads for the arithmetic of one replica
    std::string with;      ///< runs on the loops of this worker; "" = on its own
  };
  class Put {
   public:
    explicit Put(Entry* entry) : entry_(entry) {}
    Put threads(int64_t n) const {
      entry_->threads = n;
      return *this;
    }

   private:
    Entry* entry_;
  };

  /// Everything once, in this process.
  static Placement one_process() { return {}; }

  Put put(const std::string& worker, int64_t replicas = 1);
  /// Runs `worker` on the loop threads of `host`. The host may itself be placed with another.
  Placement& together(const std::string& worker, const std::string& host);

  [[nodiscard]] const std::map<std::string, Entry>& entries() const noexcept { return entries_; }

  /// The worker whose loops this one runs on: itself, or the end of its chain of `with`. A cycle
  /// ends where it started.
  [[nodiscard]] std::string host(std::string_view worker) const;
  /// Replicas that will run (the host's, when placed together).
  [[nodiscard]] int64_t replicas(std::string_view worker) const;
  [[nodiscard]] int64_t threads(std::string_view worker) const;

  /// A service is paired when all its clients and servers run on the loops of one host, the host
  /// has several replicas.
  [[nodiscard]] bool paired(const Graph& graph, std::string_view channel) const;
  /// Name under which a replica opens a channel: "act#2" for replica 2 of a worker at a paired
  /// service, else the channel's own name. Transports see only instances, and each is a channel of
  /// its own with one client replica and one server replica per worker.
  [[nodiscard]] std::string channel_instance(const Graph& graph, std::string_view channel,
                                             int64_t replica) const;
  /// Endpoints that will write (or ask at, or publish to) one instance of a channel: the number of
  /// clean closes that end it.
  [[nodiscard]] int64_t senders(const Graph& graph, std::string_view channel) const;

  /// Keys placement.<worker>.replicas, .threads and .with for every worker of the graph. The binder
  /// must not outlive the placement.
  void bind(ConfigBinder& b, const Graph& graph);

 private:
  [[nodiscard]] const Entry* find(std::string_view worker) const;
  std::map<std::string, Entry> entries_;  // stable addresses: binders and Put point into it
};

}  // namespace sluice
