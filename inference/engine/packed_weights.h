#pragma once
#include "inference/engine/engine.h"
#include "inference/kernels/linear_kernels.h"

namespace sluice {

/// An engine's weights packed in that format, anew for every version. Fp32 makes the engine exact:
/// its numbers are those of ExactLinearOp, whatever the batch.
[[nodiscard]] LinearFactory packed_weights(WeightFormat format);

}  // namespace sluice
