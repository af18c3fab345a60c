#pragma once
#include "dataflow/base/ids.h"
#include "dataflow/types/batch.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace sluice {

/// One episode that ended inside a chunk.
struct EpisodeEnd {
  double episode_return = 0;  ///< undiscounted
  int64_t length = 0;         ///< steps
  bool truncated = false;
};

/// A chunk of T consecutive steps of one agent; it may span episodes. Columns of `steps`, each [T,
/// ...]: the observation tensors, "action", "log_prob", "value", "reward" (float32), "terminated",
/// "truncated" (uint8), and "bootstrap" (float32): the value of the observation that followed step
/// t, valid where the episode was truncated at t and at t = T-1 unless it terminated there; 0
/// elsewhere.
struct Trajectory {
  static constexpr std::string_view kPayloadName = "Trajectory";

  /// Columns of `steps` behind the observation tensors, in the schema's order.
  enum Column : int64_t { kAction, kLogProb, kValue, kReward, kTerminated, kTruncated, kBootstrap };

  Batch steps;
  int64_t slot = 0;      ///< the agent, unique in the run: replica * ring size + ring slot
  int64_t number = 0;    ///< 0, 1, .. per slot; a gap means lost chunks
  VersionSpan versions;  ///< versions that chose the actions
  std::vector<EpisodeEnd> episodes;

  [[nodiscard]] int64_t weight() const noexcept { return steps.rows(); }
  /// The schema of `steps` for an environment.
  static Schema schema(const Schema& observation, const TensorSpec& action);
};

}  // namespace sluice
