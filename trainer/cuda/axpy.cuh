#pragma once
#include <cstdint>

namespace sluice::cuda {

/// y[i] = a * x[i] + y[i]; any grid: each thread strides over the array.
__global__ void axpy_kernel(int64_t n, float a, const float* x, float* y) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += stride) {
    y[i] = a * x[i] + y[i];
  }
}

}  // namespace sluice::cuda
