#pragma once
#include "dataflow/base/mutex.h"
#include "dataflow/transport/service_queue.h"

#include <memory>

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
  /// Never changes: no lock.
  [[nodiscard]] const ServiceSpec& spec() const noexcept SLUICE_NO_THREAD_SAFETY_ANALYSIS {
    return queue_.spec();
  }

 private:
  class Client;
  class Server;

  Mutex mutex_;
  ServiceQueue queue_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice
