#include "inference/engine/packed_weights.h"

#include "inference/kernels/packed_linear_op.h"

namespace sluice {

LinearFactory packed_weights(WeightFormat format) {
  return [format](const Transformer& of) -> Result<std::shared_ptr<const LinearOp>> {
    ASSIGN_OR_RETURN(auto op, PackedLinearOp::create(of.config(), of.parameters(), format));
    return std::shared_ptr<const LinearOp>(std::move(op));
  };
}

}  // namespace sluice
