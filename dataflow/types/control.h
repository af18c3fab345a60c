#pragma once
#include "dataflow/base/ids.h"
#include "dataflow/types/batch.h"

#include <cstdint>
#include <string_view>

namespace sluice {

/// What a rollout worker asks a policy: `count` filled rows of `rows` (capacity rows.rows()).
/// Columns: the environment's observation tensors, then kSlot (int64: which agent, unique in the
/// run), kDraw (int64: counter of that agent's random draws, so that an answer never depends on
/// batching) and kWant (uint8: 1 = an action, 0 = only the value, to bootstrap).
struct Observation {
  static constexpr std::string_view kPayloadName = "Observation";
  static constexpr std::string_view kSlot = "slot";
  static constexpr std::string_view kDraw = "draw";
  static constexpr std::string_view kWant = "want";

  Batch rows;
  int64_t count = 0;

  [[nodiscard]] int64_t weight() const noexcept { return count; }
  /// The schema of `rows` for an environment with these observation tensors.
  static Schema schema(const Schema& observation);
};

/// The policy's answer, row by row: "action" (as the environment's action column), "log_prob" and
/// "value" (float32), and the version that gave all of them.
struct Action {
  static constexpr std::string_view kPayloadName = "Action";

  Batch rows;
  int64_t count = 0;
  VersionTag version;

  [[nodiscard]] int64_t weight() const noexcept { return count; }
  static Schema schema(const TensorSpec& action);
};

}  // namespace sluice
