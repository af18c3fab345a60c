#pragma once
#include "dataflow/base/clock.h"
#include "dataflow/base/metrics.h"
#include "dataflow/base/result.h"
#include "dataflow/base/waker.h"
#include "dataflow/channel/latest.h"
#include "dataflow/channel/service.h"
#include "dataflow/channel/stream.h"
#include "dataflow/policy/latest_policy.h"

#include <memory>
#include <string>
#include <string_view>

namespace sluice {

/// A channel as a transport must set it up. `payload` is the type's name (both of a service's,
/// joined by " -> "); endpoints of one channel must agree on it, on the policy and on the number of
/// writers or clients: open_*() refuses one that differs, and names both.
struct StreamSpec {
  std::string name;
  std::string payload;
  StreamPolicy policy;
  int64_t writers = 1;  ///< clean closes that make an end of stream
  uint64_t seed = 0;    ///< for Uniform sampling
};
struct ServiceSpec {
  std::string name;
  std::string payload;
  ServicePolicy policy;
  int64_t clients = 1;  ///< clean closes that end the service
};
struct LatestSpec {
  std::string name;
  std::string payload;
  LatestPolicy policy = {};
};

// [transport]
/// Carries channels between the loops that use them: pointers in one process here, shared memory or
/// ZeroMQ elsewhere. open_*() of the same channel name from any thread joins the same channel.
/// Every endpoint wakes its own loop's Waker when something changes for it. All transports pass the
/// contract test in dataflow/transport/transport_contract_test.cc; nothing above may know which one
/// it has.
class Transport {
 public:
  virtual ~Transport() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;

  virtual Result<std::unique_ptr<RawStreamWriter>> open_writer(const StreamSpec& spec,
                                                               Waker& waker) = 0;
  virtual Result<std::unique_ptr<RawStreamReader>> open_reader(const StreamSpec& spec,
                                                               Waker& waker) = 0;
  virtual Result<std::unique_ptr<RawServiceClient>> open_client(const ServiceSpec& spec,
                                                                Waker& waker) = 0;
  virtual Result<std::unique_ptr<RawServiceServer>> open_server(const ServiceSpec& spec,
                                                                Waker& waker) = 0;
  virtual Result<std::unique_ptr<RawLatestPublisher>> open_publisher(const LatestSpec& spec,
                                                                     Waker& waker) = 0;
  virtual Result<std::unique_ptr<RawLatestFollower>> open_follower(const LatestSpec& spec,
                                                                   Waker& waker) = 0;
};
// [/transport]

}  // namespace sluice
