#pragma once
#include "dataflow/base/random.h"
#include "models/nets/parameter_set.h"

namespace sluice {

/// Fills `out` [rows, columns] with `gain` times a matrix whose shorter side is orthonormal, drawn
/// from `key` (QR of a normal matrix, signs fixed by R's diagonal, so that the draw is uniform).
void orthogonal(RandomKey key, int64_t rows, int64_t columns, double gain, float* out);

/// Initialises the tensors of `spec` named by layout(prefix): orthogonal weights with gain sqrt(2),
/// `output_gain` in the last layer, zero biases.
void initialise_mlp(const MlpSpec& spec, const std::string& prefix, double output_gain,
                    RandomKey key, ParameterSet& parameters);

}  // namespace sluice
