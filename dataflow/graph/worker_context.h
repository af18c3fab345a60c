#pragma once
#include "dataflow/base/metrics.h"
#include "dataflow/base/random.h"
#include "dataflow/base/waker.h"
#include "dataflow/base/whereabouts.h"
#include "dataflow/graph/ports.h"
#include "dataflow/graph/run_control.h"
#include "dataflow/transport/transport.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

/// One replica of one worker.
struct ReplicaId {
  std::string worker;
  int64_t replica = 0;
  friend bool operator==(const ReplicaId&, const ReplicaId&) = default;
};

/// A channel as it was laid out for one replica: who carries it, and how it is set up there.
template <class Spec>
struct Route {
  Transport* transport = nullptr;
  Spec spec;
};

/// Finds the route of a channel for a replica. The launcher implements it.
class ChannelOpener {
 public:
  virtual ~ChannelOpener() = default;
  virtual Result<Route<StreamSpec>> stream(std::string_view channel, const ReplicaId& who) = 0;
  virtual Result<Route<ServiceSpec>> service(std::string_view channel, const ReplicaId& who) = 0;
  virtual Result<Route<LatestSpec>> latest(std::string_view channel, const ReplicaId& who) = 0;
};

/// Names of the channels on a worker's ports: of(verb)[i] is port i, "" where an optional port is
/// not connected.
struct PortChannels {
  std::array<std::vector<std::string>, kVerbs.size()> channels;

  [[nodiscard]] std::vector<std::string>& of(Verb verb) {
    return channels[static_cast<size_t>(verb)];
  }
  [[nodiscard]] const std::vector<std::string>& of(Verb verb) const {
    return channels[static_cast<size_t>(verb)];
  }
};

/// Everything a worker gets from outside, handed to its spec's make(). Used by the thread that
/// makes the worker; what the accessors refer to lives as long as the run, the Waker as long as the
/// loop. The context itself may die when make() returns: copy what is needed.
class WorkerContext {
 public:
  /// What the launcher fills in. Pointers are not owned and must not be null.
  struct Setup {
    ReplicaId who;
    int64_t replicas = 1;
    int64_t threads = 1;  ///< threads that this replica may use for its own arithmetic
    int64_t attempt = 0;  ///< 0 at first; counts restarts of this replica
    uint64_t seed = 0;    ///< of the run
    PortChannels ports;   ///< Graph::ports(worker)
    Clock* clock = nullptr;
    Waker* waker = nullptr;
    MetricRegistry* metrics = nullptr;
    RunControl* run = nullptr;
    ChannelOpener* opener = nullptr;
    /// For messages about a step that hangs; nobody looks when it is null.
    std::shared_ptr<Whereabouts> where = nullptr;
  };

  explicit WorkerContext(Setup setup);

  [[nodiscard]] const std::string& worker() const noexcept { return setup_.who.worker; }
  [[nodiscard]] int64_t replica() const noexcept { return setup_.who.replica; }
  [[nodiscard]] int64_t replicas() const noexcept { return setup_.replicas; }
  [[nodiscard]] int64_t threads() const noexcept { return setup_.threads; }
  [[nodiscard]] int64_t attempt() const noexcept { return setup_.attempt; }
  /// The run's seed, for what must be equal in several workers (initial weights).
  [[nodiscard]] uint64_t seed() const noexcept { return setup_.seed; }
  /// Random stream of this replica: the run's seed split by worker name and replica. The same after
  /// a restart.
  [[nodiscard]] RandomKey key() const noexcept;

  [[nodiscard]] Clock& clock() const noexcept { return *setup_.clock; }
  /// The waker of the loop that will step the worker.
  [[nodiscard]] Waker& waker() const noexcept { return *setup_.waker; }
  [[nodiscard]] MetricRegistry& metrics() const noexcept { return *setup_.metrics; }
  [[nodiscard]] RunControl& run() const noexcept { return *setup_.run; }
  /// What the worker notes where it is in while it calls foreign code; never null.
  [[nodiscard]] const std::shared_ptr<Whereabouts>& where() const noexcept { return setup_.where; }
  /// {{"worker", ..}, {"replica", ..}} and then `more`.
  [[nodiscard]] Labels labels(Labels more = {}) const;

  /// Ports of the verb, connected or not.
  [[nodiscard]] size_t ports(Verb verb) const noexcept { return setup_.ports.of(verb).size(); }
  [[nodiscard]] bool connected(Verb verb, size_t i = 0) const noexcept;
  /// Channel on port i of the verb; "" when it is not connected.
  [[nodiscard]] std::string channel(Verb verb, size_t i = 0) const;

  /// Endpoints by port order. NotFound when the port is not connected, InvalidArgument when the
  /// channel carries another payload, or why the transport could not open it. Open each once.
  template <class T>
  Result<StreamWriter<T>> writer(size_t i = 0) {
    ASSIGN_OR_RETURN(auto raw, open_writer(i, Stream<T>::payload()));
    return StreamWriter<T>(std::move(raw));
  }
  template <class T>
  Result<StreamReader<T>> reader(size_t i = 0) {
    ASSIGN_OR_RETURN(auto raw, open_reader(i, Stream<T>::payload()));
    return StreamReader<T>(std::move(raw));
  }
  template <class Req, class Rep>
  Result<ServiceClient<Req, Rep>> client(size_t i = 0) {
    ASSIGN_OR_RETURN(auto raw, (open_client(i, Service<Req, Rep>::payload())));
    return ServiceClient<Req, Rep>(std::move(raw));
  }
  template <class Req, class Rep>
  Result<ServiceServer<Req, Rep>> server(size_t i = 0) {
    ASSIGN_OR_RETURN(auto raw, (open_server(i, Service<Req, Rep>::payload())));
    return ServiceServer<Req, Rep>(std::move(raw));
  }
  template <class T>
  Result<LatestPublisher<T>> publisher(size_t i = 0) {
    ASSIGN_OR_RETURN(auto raw, open_publisher(i, Latest<T>::payload()));
    return LatestPublisher<T>(std::move(raw));
  }
  template <class T>
  Result<LatestFollower<T>> follower(size_t i = 0) {
    ASSIGN_OR_RETURN(auto raw, open_follower(i, Latest<T>::payload()));
    return LatestFollower<T>(std::move(raw));
  }
  /// What the channel that is followed on port i declares.
  Result<LatestPolicy> followed_policy(size_t i = 0);

 private:
  Result<std::unique_ptr<RawStreamWriter>> open_writer(size_t i, const std::string& payload);
  Result<std::unique_ptr<RawStreamReader>> open_reader(size_t i, const std::string& payload);
  Result<std::unique_ptr<RawServiceClient>> open_client(size_t i, const std::string& payload);
  Result<std::unique_ptr<RawServiceServer>> open_server(size_t i, const std::string& payload);
  Result<std::unique_ptr<RawLatestPublisher>> open_publisher(size_t i, const std::string& payload);
  Result<std::unique_ptr<RawLatestFollower>> open_follower(size_t i, const std::string& payload);

  template <class Raw, class Spec, class Find, class Open>
  Result<std::unique_ptr<Raw>> open(Verb verb, size_t i, const std::string& payload, Find find,
                                    Open open_endpoint);

  Setup setup_;
};

}  // namespace sluice
