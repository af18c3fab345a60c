#include "apps/observe/prometheus_exporter.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <prometheus/client_metric.h>
#include <prometheus/collectable.h>
#include <prometheus/exposer.h>
#include <prometheus/metric_family.h>
#include <prometheus/metric_type.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <limits>
#include <map>
#include <thread>

namespace sluice {
namespace {

// Prometheus allows letters, digits and underscores; our names may have dots and slashes.
std::string plain_name(std::string_view name) {
  std::string out(name);
  for (char& c : out) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!plain) c = '_';
  }
  if (out.empty() || (out[0] >= '0' && out[0] <= '9')) out.insert(out.begin(), '_');
  return out;
}

prometheus::MetricType metric_type(MetricSample::Kind kind) {
  switch (kind) {
    case MetricSample::Kind::Counter:
      return prometheus::MetricType::Counter;
    case MetricSample::Kind::Gauge:
      return prometheus::MetricType::Gauge;
    case MetricSample::Kind::Histogram:
      return prometheus::MetricType::Histogram;
  }
  return prometheus::MetricType::Untyped;
}

prometheus::ClientMetric client_metric(const MetricSample& sample) {
  prometheus::ClientMetric out;
  for (const auto& [name, value] : sample.labels) out.label.push_back({plain_name(name), value});
  switch (sample.kind) {
    case MetricSample::Kind::Counter:
      out.counter.value = sample.value;
      break;
    case MetricSample::Kind::Gauge:
      out.gauge.value = sample.value;
      break;
    case MetricSample::Kind::Histogram: {
      uint64_t total = 0;
      for (size_t i = 0; i < sample.counts.size(); ++i) {
        total += static_cast<uint64_t>(sample.counts[i]);
        out.histogram.bucket.push_back({total, i < sample.bounds.size()
                                                   ? sample.bounds[i]
                                                   : std::numeric_limits<double>::infinity()});
      }
      out.histogram.sample_count = total;
      out.histogram.sample_sum = sample.sum;
      break;
    }
  }
  return out;
}

class RegistryView final : public prometheus::Collectable {
 public:
  explicit RegistryView(const MetricRegistry& registry) : registry_(registry) {}

  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override {
    std::vector<prometheus::MetricFamily> families;
    std::map<std::string, size_t> place;
    for (const MetricSample& sample : registry_.snapshot()) {
      const std::string name = plain_name(sample.name);
      const auto [at, fresh] = place.emplace(name, families.size());
      if (fresh) families.push_back({name, sample.help, metric_type(sample.kind), {}});
      families[at->second].metric.push_back(client_metric(sample));
    }
    return families;
  }

 private:
  const MetricRegistry& registry_;
};

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// The server library says only that something failed. Trying the port ourselves tells what.
Status why_not(int port, std::string_view otherwise) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(port);
  const int failed = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int reason = failed != 0 ? errno : 0;
  ::close(fd);
  if (reason == EADDRINUSE) {
    return error(Code::FailedPrecondition,
                 "metrics port {} on 127.0.0.1 is in use; choose another with --metrics-port or 0 "
                 "for any",
                 port);
  }
  return error(Code::FailedPrecondition, "cannot serve metrics on 127.0.0.1:{}: {}", port,
               reason != 0 ? std::string_view(std::strerror(reason)) : otherwise);
}

void connect_to(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return;
  const sockaddr_in address = loopback(port);
  (void)::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  ::close(fd);
}

}  // namespace

struct PrometheusExporter::Parts {
  Parts() = default;
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  ~Parts() {
    if (!exposer) return;
    // The server looks whether it should end when a connection comes, or else every two seconds.
    std::jthread knock([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        connect_to(port);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
    exposer.reset();
  }

  std::shared_ptr<RegistryView> view;
  std::unique_ptr<prometheus::Exposer> exposer;
  int port = 0;
};

PrometheusExporter::PrometheusExporter(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
PrometheusExporter::~PrometheusExporter() = default;
int PrometheusExporter::port() const noexcept { return parts_->port; }

Result<std::unique_ptr<PrometheusExporter>> PrometheusExporter::start(
    const MetricRegistry& registry, int port) {
  if (port < 0 || port > 65535) {
    return invalid_argument("metrics port {} is out of range [0, 65535]", port);
  }
  auto parts = std::make_unique<Parts>();
  try {
    parts->view = std::make_shared<RegistryView>(registry);
    parts->exposer =
        std::make_unique<prometheus::Exposer>(fmt::format("127.0.0.1:{}", port), size_t{2});
    parts->exposer->RegisterCollectable(parts->view);
    parts->port = parts->exposer->GetListeningPorts().at(0);
  } catch (const std::exception& e) {
    return why_not(port, e.what());
  }
  return std::unique_ptr<PrometheusExporter>(new PrometheusExporter(std::move(parts)));
}

}  // namespace sluice
