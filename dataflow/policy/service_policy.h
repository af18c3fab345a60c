#pragma once
#include "dataflow/base/clock.h"
#include "dataflow/base/config.h"

#include <cstdint>

namespace sluice {

/// Everything a service declares. Limits count PayloadTraits<Request>::weight (rows, tokens).
struct ServicePolicy {
  int64_t batch_limit = 64;  ///< a batch is flushed when it weighs so much
  TimeNs batch_within =
      0;  ///< or when its oldest request has waited so long; 0 = take what is there
  TimeNs deadline = kForever;  ///< a request unanswered for so long fails with DeadlineExceeded
  int64_t capacity = 4096;     ///< requests held; a full service makes askers wait

  void bind(ConfigBinder& b);
};

}  // namespace sluice
