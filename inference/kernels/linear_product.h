#pragma once
#include "inference/kernels/linear_kernels.h"

namespace sluice {

/// y [rows, ldy] = x [rows, in] W^T + bias over `panels` panels of w, on LibTorch's threads. `bias`
/// may be null. The result does not depend on the threads. Bf16 weights go to the CPU's
/// active_bf16_unit(), if it has one: their inputs are rounded to bf16 then.
void linear_product(const LinearWeights& w, int64_t panels, const float* x, int64_t rows,
                    const float* bias, float* y, int64_t ldy);

}  // namespace sluice
