#pragma once
#include "dataflow/base/metrics.h"

#include <array>
#include <cstdint>
#include <string>

namespace sluice {

/// The metrics of one stream, looked up once.
struct StreamMetrics {
  enum class Drop : uint8_t { Full, Stale, Lineage, Refused, WriterLost, ReaderClosed, Closed };

  StreamMetrics(MetricRegistry& registry, const std::string& channel);
  Counter& dropped(Drop reason) { return *dropped_[static_cast<size_t>(reason)]; }

  Counter& written;
  Counter& read;
  Counter& admitted;
  Counter& lost_writers;
  Counter& lost_readers;
  Gauge& depth;
  Histogram& age;
  Histogram& staleness;

 private:
  std::array<Counter*, 7> dropped_;
};

}  // namespace sluice
