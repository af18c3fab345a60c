#pragma once
#include "dataflow/transport/service_queue.h"

#include <memory>
#include <mutex>

namespace sluice {

/// A service inside one process: the queue behind a mutex.
class LocalService : public std::enable_shared_from_this<LocalService> {
 public:
  LocalService(const ServiceSpec& spec, const Clock& clock, MetricRegistry& metrics)
      : queue_(spec, clock, metrics) {}

  std::unique_ptr<RawServiceClient> open_client(Waker& waker);
  std::unique_ptr<RawServiceServer> open_server(Waker& waker);
  /// See LocalTransport::lose().
  void lose(const Waker& waker);
  [[nodiscard]] const ServiceSpec& spec() const noexcept { return queue_.spec(); }

 private:
  class Client;
  class Server;

  std::mutex mutex_;
  ServiceQueue queue_;
};

}  // namespace sluice
