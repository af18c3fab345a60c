#pragma once
#include "dataflow/base/metrics.h"

#include <string>

namespace sluice {

/// All metrics of a registry as Prometheus text (exposition format 0.0.4), for whoever serves HTTP
/// itself. Characters that Prometheus does not allow in names become underscores.
[[nodiscard]] std::string metrics_text(const MetricRegistry& registry);

}  // namespace sluice
