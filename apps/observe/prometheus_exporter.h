#pragma once
#include "dataflow/base/metrics.h"
#include "dataflow/base/result.h"

#include <memory>

namespace sluice {

/// Serves a registry as Prometheus text on http://127.0.0.1:<port>/metrics as long as it lives. The
/// registry must outlive it.
class PrometheusExporter {
 public:
  /// Port 0 takes any free one. FailedPrecondition when the port is in use.
  static Result<std::unique_ptr<PrometheusExporter>> start(const MetricRegistry& registry,
                                                           int port);
  ~PrometheusExporter();
  PrometheusExporter(const PrometheusExporter&) = delete;
  PrometheusExporter& operator=(const PrometheusExporter&) = delete;

  /// The port it really listens on.
  [[nodiscard]] int port() const noexcept;

 private:
  struct Parts;
  explicit PrometheusExporter(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace sluice
