#pragma once
#include "models/transformer/model.h"

namespace sluice {

class Checkpoint;

/// The tensors of a checkpoint as load_parameters reads them, converted to `dtype`. The checkpoint
/// must outlive the reader.
[[nodiscard]] TensorReader reader_of(const Checkpoint& checkpoint, at::ScalarType dtype);

/// The model of a checkpoint, config and weights. Errors name the key or the tensor.
Result<Transformer> load_transformer(const Checkpoint& checkpoint,
                                     at::ScalarType dtype = at::kFloat);

}  // namespace sluice
