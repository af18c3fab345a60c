#pragma once
#include <cstdint>

/// The CUDA kernels' launchers as plain C++: raw pointers to device memory, no framework's types.
/// Each returns a cudaError_t (0: success) of the launch itself; `stream` is a cudaStream_t.
namespace sluice::cuda {

/// How queries, keys and values are stored. Arithmetic is fp32.
enum class Element : uint8_t { Fp32, Fp16, Bf16 };

inline constexpr int kSplit = 256;  ///< keys that one thread block attends to
inline constexpr int kVector = 8;   ///< head_dim is a multiple of this
inline constexpr int kMaxHeadDim = 256;

/// Keys and values of one layer: token t of the sequence with table `blocks`, key head h, is the
/// row of head_dim numbers at ((blocks[t / block_size] * kv_heads + h) * block_size
/// + t % block_size) * head_dim. All rows begin at multiples of 16 bytes.
struct PagedLayer {
  void* k = nullptr;
  void* v = nullptr;
  int kv_heads = 0;
  int block_size = 0;
  int head_dim = 0;
};

struct PagedAttention {
  PagedLayer layer;
  const void* q = nullptr;  ///< [rows, heads, head_dim], end to end, as is `out`
  void* out = nullptr;
  const int* tables = nullptr;   ///< [rows, width]
  const int* lengths = nullptr;  ///< [rows], at least 1, at most splits * kSplit
  float* partials = nullptr;     ///< scratch [rows, heads, splits, head_dim]
  float* sums = nullptr;         ///< scratch [rows, heads, splits, 2]
  int rows = 0;
  int heads = 0;
  int width = 0;
  int splits = 0;
  int window = 0;  ///< keys that a query sees at most; 0: all
  float scale = 0;
  float softcap = 0;  ///< 0: none
};

struct PagedStore {
  PagedLayer layer;
  const void* k = nullptr;  ///< [tokens, kv_heads, head_dim], a token's heads end to end
  const void* v = nullptr;
  int64_t k_stride = 0;  ///< numbers from token to token
  int64_t v_stride = 0;
  const int* slots = nullptr;  ///< [tokens]: block * block_size + place
  int tokens = 0;
};

int launch_attention(const PagedAttention& a, Element element, void* stream);
int launch_store(const PagedStore& s, Element element, void* stream);
/// Whether the kernels were compiled for the current device.
int kernels_run();
const char* error_text(int code);

}  // namespace sluice::cuda
