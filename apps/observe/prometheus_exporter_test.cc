#include "apps/observe/prometheus_exporter.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

namespace sluice {
namespace {

using ::testing::HasSubstr;

std::string http_get(int port, const std::string& target) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string text;
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    const std::string request =
        "GET " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    if (::send(fd, request.data(), request.size(), 0) > 0) {
      std::array<char, 4096> block{};
      for (ssize_t n = 0; (n = ::recv(fd, block.data(), block.size(), 0)) > 0;) {
        text.append(block.data(), static_cast<size_t>(n));
      }
    }
  }
  ::close(fd);
  return text;
}

TEST(PrometheusExporter, ServesEveryMetric) {
  MetricRegistry registry;
  registry.counter("sluice_steps_total", "steps done", {{"worker", "a\"b"}}).add(41);
  registry.counter("sluice_steps_total", "steps done", {{"worker", "c"}}).add(1);
  registry.gauge("sluice.depth", "items").set(2.5);
  registry.histogram("sluice_age", "age", {1, 10}).observe(5, 3);
  registry.histogram("sluice_age", "age", {1, 10}).observe(50, 2);
  const auto exporter = PrometheusExporter::start(registry, 0);
  ASSERT_TRUE(exporter.ok()) << exporter.status().to_string();
  ASSERT_GT((*exporter)->port(), 0);
  const std::string text = http_get((*exporter)->port(), "/metrics");
  EXPECT_THAT(text, HasSubstr("200 OK"));
  EXPECT_THAT(text, HasSubstr("# HELP sluice_steps_total steps done\n"
                              "# TYPE sluice_steps_total counter\n"
                              "sluice_steps_total{worker=\"a\\\"b\"} 41\n"
                              "sluice_steps_total{worker=\"c\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE sluice_depth gauge\nsluice_depth 2.5\n"));
  EXPECT_THAT(text, HasSubstr("sluice_age_count 5\nsluice_age_sum 115\n"));
  EXPECT_THAT(text, HasSubstr("sluice_age_bucket{le=\"1\"} 0\n"
                              "sluice_age_bucket{le=\"10\"} 3\n"
                              "sluice_age_bucket{le=\"+Inf\"} 5\n"));
}

TEST(PrometheusExporter, ShowsTheValuesOfTheMoment) {
  MetricRegistry registry;
  Gauge& gauge = registry.gauge("g", "");
  const auto exporter = PrometheusExporter::start(registry, 0);
  ASSERT_TRUE(exporter.ok());
  gauge.set(1);
  EXPECT_THAT(http_get((*exporter)->port(), "/metrics"), HasSubstr("\ng 1\n"));
  gauge.set(2);
  EXPECT_THAT(http_get((*exporter)->port(), "/metrics"), HasSubstr("\ng 2\n"));
}

TEST(PrometheusExporter, APortInUseIsSaid) {
  MetricRegistry registry;
  const auto first = PrometheusExporter::start(registry, 0);
  ASSERT_TRUE(first.ok());
  const int port = (*first)->port();
  const auto second = PrometheusExporter::start(registry, port);
  EXPECT_EQ(second.status().code(), Code::FailedPrecondition);
  EXPECT_EQ(second.status().message(),
            fmt::format("metrics port {} on 127.0.0.1 is in use; choose another with "
                        "--metrics-port or 0 for any",
                        port));
}

TEST(PrometheusExporter, APortOutOfRangeIsSaid) {
  MetricRegistry registry;
  EXPECT_EQ(PrometheusExporter::start(registry, 65536).status().code(), Code::InvalidArgument);
}

}  // namespace
}  // namespace sluice
