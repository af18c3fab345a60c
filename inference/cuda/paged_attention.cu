#include "inference/cuda/paged_attention.cuh"

#include <cuda_runtime.h>

namespace sluice::cuda {
namespace {

template <class T, int kShare>
cudaError_t attend(const PagedAttention& a, cudaStream_t stream) {
  const int share = a.heads / a.layer.kv_heads;
  const dim3 grid(a.rows, a.layer.kv_heads * ((share + kShare - 1) / kShare), a.splits);
  attend_split<T, kShare><<<grid, kThreads, 0, stream>>>(a);
  if (const cudaError_t e = cudaGetLastError(); e != cudaSuccess) return e;
  merge_splits<T><<<dim3(a.rows, a.heads), kThreads, 0, stream>>>(a);
  return cudaGetLastError();
}

// Query heads that share a key head, up to eight; more are done in chunks of eight, which read the
// keys once each.
template <class T>
cudaError_t attend(const PagedAttention& a, cudaStream_t stream) {
  const int share = a.heads / a.layer.kv_heads;
  if (share == 1) return attend<T, 1>(a, stream);
  if (share == 2) return attend<T, 2>(a, stream);
  if (share <= 4) return attend<T, 4>(a, stream);
  return attend<T, 8>(a, stream);
}

template <class T>
cudaError_t store(const PagedStore& s, cudaStream_t stream) {
  store_rows<T><<<s.tokens, kThreads, 0, stream>>>(s);
  return cudaGetLastError();
}

bool fits(const PagedLayer& layer) {
  return layer.head_dim > 0 && layer.head_dim <= kMaxHeadDim && layer.head_dim % kVector == 0 &&
         layer.kv_heads > 0 && layer.block_size > 0;
}

}  // namespace

int launch_attention(const PagedAttention& a, Element element, void* stream) {
  if (a.rows == 0) return cudaSuccess;
  if (!fits(a.layer) || a.heads % a.layer.kv_heads != 0 || a.splits < 1) {
    return cudaErrorInvalidValue;
  }
  auto* on = static_cast<cudaStream_t>(stream);
  switch (element) {
    case Element::Fp32:
      return attend<float>(a, on);
    case Element::Fp16:
      return attend<__half>(a, on);
    case Element::Bf16:
      return attend<__nv_bfloat16>(a, on);
  }
  return cudaErrorInvalidValue;
}

int launch_store(const PagedStore& s, Element element, void* stream) {
  if (s.tokens == 0) return cudaSuccess;
  if (!fits(s.layer)) return cudaErrorInvalidValue;
  auto* on = static_cast<cudaStream_t>(stream);
  switch (element) {
    case Element::Fp32:
      return store<float>(s, on);
    case Element::Fp16:
      return store<__half>(s, on);
    case Element::Bf16:
      return store<__nv_bfloat16>(s, on);
  }
  return cudaErrorInvalidValue;
}

int kernels_run() {
  cudaFuncAttributes attributes{};
  return cudaFuncGetAttributes(&attributes, merge_splits<float>);
}

const char* error_text(int code) { return cudaGetErrorString(static_cast<cudaError_t>(code)); }

}  // namespace sluice::cuda
