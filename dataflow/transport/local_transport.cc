#include "dataflow/transport/local_transport.h"

#include "dataflow/transport/local_latest.h"
#include "dataflow/transport/local_service.h"
#include "dataflow/transport/local_stream.h"

#include <fmt/ranges.h>

#include <utility>
#include <vector>

namespace sluice {
namespace {

Status check_payload(const std::string& channel, const std::string& there,
                     const std::string& wanted) {
  if (there == wanted) return {};
  return invalid_argument("channel '{}' carries {}, not {}", channel, there, wanted);
}

Status check_policy(const std::string& channel, const std::vector<std::string>& problems) {
  if (problems.empty()) return {};
  return invalid_argument("channel '{}': {}", channel, fmt::join(problems, "; "));
}

Status check_same(const std::string& channel, const std::vector<std::string>& differences) {
  if (differences.empty()) return {};
  return invalid_argument("channel '{}' is open with other settings than are asked for: {}",
                          channel, fmt::join(differences, "; "));
}

/// The channel has the settings of whoever opened it first; another who wants others must hear of
/// it. Of a stream the seed does not count: it only matters to the first.
std::vector<std::string> differences(const StreamSpec& there, const StreamSpec& wanted) {
  auto out = differences(there.policy, wanted.policy);
  if (there.writers != wanted.writers) {
    out.push_back(fmt::format("writers {} and {}", there.writers, wanted.writers));
  }
  return out;
}

std::vector<std::string> differences(const ServiceSpec& there, const ServiceSpec& wanted) {
  auto out = differences(there.policy, wanted.policy);
  if (there.clients != wanted.clients) {
    out.push_back(fmt::format("clients {} and {}", there.clients, wanted.clients));
  }
  return out;
}

}  // namespace

LocalTransport::LocalTransport(const Clock& clock, MetricRegistry& metrics)
    : clock_(clock), metrics_(metrics) {}
LocalTransport::~LocalTransport() = default;

Result<std::shared_ptr<LocalStream>> LocalTransport::stream(const StreamSpec& spec) {
  const MutexLock lock(mutex_);
  auto& entry = streams_[spec.name];
  if (entry == nullptr) {
    if (Status bad = check_policy(spec.name, problems(spec.policy)); !bad.ok()) {
      streams_.erase(spec.name);
      return bad;
    }
    entry = std::make_shared<LocalStream>(spec, clock_, metrics_);
  }
  RETURN_IF_ERROR(check_payload(spec.name, entry->spec().payload, spec.payload));
  RETURN_IF_ERROR(check_same(spec.name, differences(entry->spec(), spec)));
  return entry;
}

Result<std::shared_ptr<LocalService>> LocalTransport::service(const ServiceSpec& spec) {
  const MutexLock lock(mutex_);
  auto& entry = services_[spec.name];
  if (entry == nullptr) {
    if (Status bad = check_policy(spec.name, problems(spec.policy)); !bad.ok()) {
      services_.erase(spec.name);
      return bad;
    }
    entry = std::make_shared<LocalService>(spec, clock_, metrics_);
  }
  RETURN_IF_ERROR(check_payload(spec.name, entry->spec().payload, spec.payload));
  RETURN_IF_ERROR(check_same(spec.name, differences(entry->spec(), spec)));
  return entry;
}

Result<std::shared_ptr<LocalLatest>> LocalTransport::latest(const LatestSpec& spec) {
  const MutexLock lock(mutex_);
  auto& entry = latests_[spec.name];
  if (entry == nullptr) entry = std::make_shared<LocalLatest>(spec, metrics_);
  RETURN_IF_ERROR(check_payload(spec.name, entry->spec().payload, spec.payload));
  return entry;
}

Result<std::unique_ptr<RawStreamWriter>> LocalTransport::open_writer(const StreamSpec& spec,
                                                                     Waker& waker) {
  ASSIGN_OR_RETURN(const auto channel, stream(spec));
  return channel->open_writer(waker);
}

Result<std::unique_ptr<RawStreamReader>> LocalTransport::open_reader(const StreamSpec& spec,
                                                                     Waker& waker) {
  ASSIGN_OR_RETURN(const auto channel, stream(spec));
  return channel->open_reader(waker);
}

Result<std::unique_ptr<RawServiceClient>> LocalTransport::open_client(const ServiceSpec& spec,
                                                                      Waker& waker) {
  ASSIGN_OR_RETURN(const auto channel, service(spec));
  return channel->open_client(waker);
}

Result<std::unique_ptr<RawServiceServer>> LocalTransport::open_server(const ServiceSpec& spec,
                                                                      Waker& waker) {
  ASSIGN_OR_RETURN(const auto channel, service(spec));
  return channel->open_server(waker);
}

Result<std::unique_ptr<RawLatestPublisher>> LocalTransport::open_publisher(const LatestSpec& spec,
                                                                           Waker& waker) {
  ASSIGN_OR_RETURN(const auto channel, latest(spec));
  return channel->open_publisher(waker);
}

Result<std::unique_ptr<RawLatestFollower>> LocalTransport::open_follower(const LatestSpec& spec,
                                                                         Waker& waker) {
  ASSIGN_OR_RETURN(const auto channel, latest(spec));
  return channel->open_follower(waker);
}

void LocalTransport::lose(const Waker& waker) {
  const MutexLock lock(mutex_);
  for (const auto& [name, stream] : streams_) stream->lose(waker);
  for (const auto& [name, service] : services_) service->lose(waker);
  for (const auto& [name, latest] : latests_) latest->lose(waker);
}

}  // namespace sluice
