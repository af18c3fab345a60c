#pragma once
#include "dataflow/base/clock.h"
#include "dataflow/base/config.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

/// Everything a service declares. Limits count PayloadTraits<Request>::weight (rows, tokens).
struct ServicePolicy {
  int64_t batch_limit = 64;  ///< a batch is flushed when it weighs so much
  int64_t batch_within_us =
      0;                    ///< or when its oldest request waited so long; 0 = take what is there
  int64_t deadline_ms = 0;  ///< a request unanswered for so long fails; 0 = never
  int64_t capacity = 4096;  ///< requests held; a full service makes askers wait

  void bind(ConfigBinder& b);
  [[nodiscard]] TimeNs batch_within() const noexcept { return batch_within_us * kMicrosecond; }
  [[nodiscard]] TimeNs deadline() const noexcept {
    return deadline_ms == 0 ? kForever : deadline_ms * kMillisecond;
  }
};

/// What cannot work, in plain words and with the numbers that clash; empty when all is well.
[[nodiscard]] std::vector<std::string> problems(const ServicePolicy& policy);

/// The settings in which two policies differ, as "capacity 4 and 8"; empty when they are the same.
[[nodiscard]] std::vector<std::string> differences(const ServicePolicy& a, const ServicePolicy& b);

}  // namespace sluice
