#pragma once
#include "dataflow/base/metrics.h"

#include <array>
#include <cstdint>
#include <string>

namespace sluice {

/// The metrics of one service, looked up once.
struct ServiceMetrics {
  enum class Failure : uint8_t { Deadline, ServerLost, ServerClosed, ClientGone, Server };

  ServiceMetrics(MetricRegistry& registry, const std::string& channel);
  Counter& failed(Failure reason) { return *failed_[static_cast<size_t>(reason)]; }

  Counter& asked;
  Counter& answered;
  Counter& late;
  Counter& lost_clients;
  Counter& lost_servers;
  Gauge& waiting;
  Histogram& batch_size;
  Histogram& latency;

 private:
  std::array<Counter*, 5> failed_;
};

}  // namespace sluice
