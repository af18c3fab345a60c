#pragma once
#include "dataflow/base/worker.h"
#include "dataflow/graph/ports.h"
#include "dataflow/graph/worker_context.h"
#include "dataflow/types/control.h"
#include "dataflow/types/trajectory.h"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace sluice::bench {

/// Answers every observation at once with the memory as it is: what is left is the service.
struct ZeroPolicy {
  static constexpr std::string_view kRole = "inference";
  using Serves = Ports<Service<Observation, Action>>;
  Result<std::unique_ptr<Worker>> make(WorkerContext& context) const;
};

/// Asks one question at a time, about the "null" environment, and notes how long each answer took.
/// Its loop waits in between as any worker's does.
struct Asker {
  static constexpr std::string_view kRole = "rollout";
  using Asks = Ports<Service<Observation, Action>>;

  struct Times {
    std::vector<double> microseconds;  ///< to be read when the worker has finished
    std::atomic<bool> done{false};
  };
  int64_t questions = 0;
  std::shared_ptr<Times> times;
  Result<std::unique_ptr<Worker>> make(WorkerContext& context) const;
};

/// Writes chunks of `horizon` steps of `width` floats as fast as the stream takes them.
struct ChunkSource {
  static constexpr std::string_view kRole = "rollout";
  using Writes = Ports<Stream<Trajectory>>;
  int64_t width = 32;
  int64_t horizon = 200;
  bool fill = false;  ///< write every observation of every chunk
  Result<std::unique_ptr<Worker>> make(WorkerContext& context) const;
};

/// Takes `batch` chunks at a time and lets them go; counts them, and looks at every chunk's last
/// row when `sum` says so.
struct ChunkSink {
  static constexpr std::string_view kRole = "trainer";
  using Reads = Ports<Stream<Trajectory>>;

  struct Seen {
    std::atomic<int64_t> chunks{0};
    std::atomic<int64_t> steps{0};
    std::atomic<int64_t> out_of_order{0};
  };
  int64_t batch = 1;
  std::shared_ptr<Seen> seen;
  Result<std::unique_ptr<Worker>> make(WorkerContext& context) const;
};

}  // namespace sluice::bench
