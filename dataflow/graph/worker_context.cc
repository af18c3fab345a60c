#include "dataflow/graph/worker_context.h"

namespace sluice {

WorkerContext::WorkerContext(Setup setup) : setup_(std::move(setup)) {
  SLUICE_CHECK(setup_.clock != nullptr && setup_.waker != nullptr && setup_.metrics != nullptr &&
               setup_.run != nullptr && setup_.opener != nullptr)
      << "incomplete context for worker '" << setup_.who.worker << "'";
  if (!setup_.where) setup_.where = std::make_shared<Whereabouts>();
}

RandomKey WorkerContext::key() const noexcept {
  return RandomKey(setup_.seed).split(worker()).split(static_cast<uint64_t>(replica()));
}

Labels WorkerContext::labels(Labels more) const {
  Labels all{{"worker", worker()}, {"replica", std::to_string(replica())}};
  for (auto& label : more) all.push_back(std::move(label));
  return all;
}

bool WorkerContext::connected(Verb verb, size_t i) const noexcept {
  return i < ports(verb) && !setup_.ports.of(verb)[i].empty();
}

std::string WorkerContext::channel(Verb verb, size_t i) const {
  return connected(verb, i) ? setup_.ports.of(verb)[i] : std::string();
}

template <class Raw, class Spec, class Find, class Open>
Result<std::unique_ptr<Raw>> WorkerContext::open(Verb verb, size_t i, const std::string& payload,
                                                 Find find, Open open_endpoint) {
  if (!connected(verb, i)) {
    return error(Code::NotFound, "worker '{}' {} nothing on port {}", worker(), name(verb), i);
  }
  const std::string& channel = setup_.ports.of(verb)[i];
  Result<Route<Spec>> route = (setup_.opener->*find)(channel, setup_.who);
  if (!route.ok()) return route.status().with_context("channel '" + channel + "'");
  if (route->spec.payload != payload) {
    return invalid_argument("worker '{}' {} channel '{}' as {}, but it carries {}", worker(),
                            name(verb), channel, payload, route->spec.payload);
  }
  auto raw = (route->transport->*open_endpoint)(route->spec, waker());
  if (!raw.ok()) return raw.status().with_context("channel '" + channel + "'");
  return raw;
}

Result<LatestPolicy> WorkerContext::followed_policy(size_t i) {
  if (!connected(Verb::Follows, i)) {
    return error(Code::NotFound, "worker '{}' follows nothing on port {}", worker(), i);
  }
  ASSIGN_OR_RETURN(const auto route,
                   setup_.opener->latest(setup_.ports.of(Verb::Follows)[i], setup_.who));
  return route.spec.policy;
}

Result<std::unique_ptr<RawStreamWriter>> WorkerContext::open_writer(size_t i,
                                                                    const std::string& payload) {
  return open<RawStreamWriter, StreamSpec>(Verb::Writes, i, payload, &ChannelOpener::stream,
                                           &Transport::open_writer);
}
Result<std::unique_ptr<RawStreamReader>> WorkerContext::open_reader(size_t i,
                                                                    const std::string& payload) {
  return open<RawStreamReader, StreamSpec>(Verb::Reads, i, payload, &ChannelOpener::stream,
                                           &Transport::open_reader);
}
Result<std::unique_ptr<RawServiceClient>> WorkerContext::open_client(size_t i,
                                                                     const std::string& payload) {
  return open<RawServiceClient, ServiceSpec>(Verb::Asks, i, payload, &ChannelOpener::service,
                                             &Transport::open_client);
}
Result<std::unique_ptr<RawServiceServer>> WorkerContext::open_server(size_t i,
                                                                     const std::string& payload) {
  return open<RawServiceServer, ServiceSpec>(Verb::Serves, i, payload, &ChannelOpener::service,
                                             &Transport::open_server);
}
Result<std::unique_ptr<RawLatestPublisher>> WorkerContext::open_publisher(
    size_t i, const std::string& payload) {
  return open<RawLatestPublisher, LatestSpec>(Verb::Publishes, i, payload, &ChannelOpener::latest,
                                              &Transport::open_publisher);
}
Result<std::unique_ptr<RawLatestFollower>> WorkerContext::open_follower(
    size_t i, const std::string& payload) {
  return open<RawLatestFollower, LatestSpec>(Verb::Follows, i, payload, &ChannelOpener::latest,
                                             &Transport::open_follower);
}

}  // namespace sluice
