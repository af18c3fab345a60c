#pragma once
#include "dataflow/base/mutex.h"
#include "dataflow/transport/transport.h"

#include <map>
#include <memory>
#include <string>

namespace sluice {

class LocalStream;
class LocalService;
class LocalLatest;

/// Channels inside one process: handles move, payload bytes do not. Endpoints may outlive the
/// transport; the clock and the registry must outlive both. Any thread may open endpoints.
class LocalTransport final : public Transport {
 public:
  LocalTransport(const Clock& clock, MetricRegistry& metrics);
  ~LocalTransport() override;
  [[nodiscard]] std::string_view name() const override { return "local"; }

  Result<std::unique_ptr<RawStreamWriter>> open_writer(const StreamSpec& spec,
                                                       Waker& waker) override;
  Result<std::unique_ptr<RawStreamReader>> open_reader(const StreamSpec& spec,
                                                       Waker& waker) override;
  Result<std::unique_ptr<RawServiceClient>> open_client(const ServiceSpec& spec,
                                                        Waker& waker) override;
  Result<std::unique_ptr<RawServiceServer>> open_server(const ServiceSpec& spec,
                                                        Waker& waker) override;
  Result<std::unique_ptr<RawLatestPublisher>> open_publisher(const LatestSpec& spec,
                                                             Waker& waker) override;
  Result<std::unique_ptr<RawLatestFollower>> open_follower(const LatestSpec& spec,
                                                           Waker& waker) override;

  /// Treats every endpoint that wakes `waker` as a lost peer: its permits go back, its questions
  /// fail or come back, what it publishes is refused, and whatever it still does has no effect. For
  /// a thread that hangs and was given up; the endpoints themselves are destroyed when it comes
  /// back. Any thread.
  void lose(const Waker& waker);

 private:
  Result<std::shared_ptr<LocalStream>> stream(const StreamSpec& spec);
  Result<std::shared_ptr<LocalService>> service(const ServiceSpec& spec);
  Result<std::shared_ptr<LocalLatest>> latest(const LatestSpec& spec);

  const Clock& clock_;
  MetricRegistry& metrics_;
  Mutex mutex_;
  std::map<std::string, std::shared_ptr<LocalStream>> streams_ SLUICE_GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<LocalService>> services_ SLUICE_GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<LocalLatest>> latests_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice
