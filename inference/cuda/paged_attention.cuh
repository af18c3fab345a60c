#pragma once
#include "inference/cuda/paged_attention.h"

#ifdef __CUDACC__  // kernels_on_cpu_test.cc compiles this file as C++, for fp32
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

// Attention of single query tokens over keys in blocks: what decoding does in every layer.
//
// It reads each key and value once and computes little with them, so all that counts is to keep
// every multiprocessor busy reading. Two things help. First, the query heads that share a key head
// (grouped-query attention, arXiv 2305.13245) are done together: a key comes from memory once for
// all of them. Second, a long sequence is split over its keys (FlashDecoding): every split is a
// thread block of its own, and a second kernel merges their results, each rescaled to the largest
// score of all (online softmax, arXiv 1805.02867).
//
//        keys of a sequence   0 ........ 255 | 256 ...... 511 | 512 .. length
//        attend_split         partial, m, l  | partial, m, l  | partial, m, l
//        merge_splits         out = sum_s exp(m_s - m) partial_s / sum_s exp(m_s - m) l_s
//
// Splits lie at fixed places, and a row's sums are taken in an order that depends on its own length
// alone: a row has the same bits in any batch.
namespace sluice::cuda {

constexpr int kThreads = 128;
constexpr int kWarp = 32;

/// Eight numbers that are loaded and stored together.
template <class T>
struct alignas(16) Pack {
  T x[kVector];
};

__device__ inline float to_float(float x) { return x; }
__device__ inline void from_float(float x, float& out) { out = x; }
#ifdef __CUDACC__
__device__ inline float to_float(__half x) { return __half2float(x); }
__device__ inline float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ inline void from_float(float x, __half& out) { out = __float2half_rn(x); }
__device__ inline void from_float(float x, __nv_bfloat16& out) { out = __float2bfloat16_rn(x); }
#endif

template <class T>
__device__ inline void load(const T* from, float (&out)[kVector]) {
  const Pack<T> pack = *reinterpret_cast<const Pack<T>*>(from);
#pragma unroll
  for (int i = 0; i < kVector; ++i) out[i] = to_float(pack.x[i]);
}

/// Where place `place` of block `block` begins, for one key head.
__device__ inline int64_t row_at(const PagedLayer& layer, int64_t block, int head, int place) {
  return ((block * layer.kv_heads + head) * layer.block_size + place) * layer.head_dim;
}

/// The first key that a query at the end of `length` keys sees.
__device__ inline int first_seen(int length, int window) {
  return window > 0 && length > window ? length - window : 0;
}

/// Largest or sum over a warp, in every lane.
__device__ inline float warp_max(float x) {
  for (int step = kWarp / 2; step > 0; step /= 2) {
    x = fmaxf(x, __shfl_xor_sync(0xffffffffU, x, step));
  }
  return x;
}
__device__ inline float warp_sum(float x) {
  for (int step = kWarp / 2; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffU, x, step);
  return x;
}

/// Grid (rows, kv_heads * chunks of kShare query heads, splits), kThreads threads.
template <class T, int kShare>
__global__ void __launch_bounds__(kThreads) attend_split(PagedAttention a) {
  const PagedLayer& layer = a.layer;
  const int dim = layer.head_dim;
  const int row = blockIdx.x;
  const int split = blockIdx.z;
  const int share = a.heads / layer.kv_heads;
  const int chunks = (share + kShare - 1) / kShare;
  const int kv_head = blockIdx.y / chunks;
  const int first_head = kv_head * share + blockIdx.y % chunks * kShare;
  const int heads = min(kShare, (kv_head + 1) * share - first_head);

  const int length = a.lengths[row];
  const int base = split * kSplit;
  const int begin = max(base, first_seen(length, a.window));
  const int end = min(base + kSplit, length);
  if (begin >= end) return;  // the grid is as deep as the longest row of the batch needs
  const int* table = a.tables + static_cast<int64_t>(row) * a.width;

  __shared__ float query[kShare][kMaxHeadDim];
  __shared__ float score[kShare][kSplit];
  __shared__ float part[kThreads * kVector];

  const T* q =
      static_cast<const T*>(a.q) + (static_cast<int64_t>(row) * a.heads + first_head) * dim;
  for (int i = threadIdx.x; i < kShare * dim; i += kThreads) {
    query[i / dim][i % dim] = i < heads * dim ? to_float(q[i]) * a.scale : 0.0F;
  }
  __syncthreads();

  // 1. Scores. A thread takes a whole key, 16 bytes at a time, and multiplies it by every query.
  for (int key = begin + threadIdx.x; key < end; key += kThreads) {
    const T* k = static_cast<const T*>(layer.k) +
                 row_at(layer, table[key / layer.block_size], kv_head, key % layer.block_size);
    float dot[kShare] = {};
    for (int d = 0; d < dim; d += kVector) {
      float x[kVector];
      load(k + d, x);
#pragma unroll
      for (int h = 0; h < kShare; ++h) {
#pragma unroll
        for (int i = 0; i < kVector; ++i) dot[h] += query[h][d + i] * x[i];
      }
    }
#pragma unroll
    for (int h = 0; h < kShare; ++h) {
      score[h][key - base] = a.softcap > 0 ? a.softcap * tanhf(dot[h] / a.softcap) : dot[h];
    }
  }
  __syncthreads();

  // 2. Weights. A warp takes a head: the largest score, then exp(score - largest) and their sum.
  const int lane = threadIdx.x % kWarp;
  for (int h = threadIdx.x / kWarp; h < heads; h += kThreads / kWarp) {
    float largest = -INFINITY;
    for (int key = begin + lane; key < end; key += kWarp) {
      largest = fmaxf(largest, score[h][key - base]);
    }
    largest = warp_max(largest);
    float sum = 0;
    for (int key = begin + lane; key < end; key += kWarp) {
      const float weight = expf(score[h][key - base] - largest);
      score[h][key - base] = weight;
      sum += weight;
    }
    sum = warp_sum(sum);
    if (lane == 0) {
      float* out =
          a.sums + ((static_cast<int64_t>(row) * a.heads + first_head + h) * a.splits + split) * 2;
      out[0] = largest;
      out[1] = sum;
    }
  }
  __syncthreads();

  // 3. Values. dim / 8 threads side by side read one value; such groups take the keys in turns.
  const int across = dim / kVector;
  const int groups = kThreads / across;
  const int group = threadIdx.x / across;
  const int column = threadIdx.x % across * kVector;
  float sum[kShare][kVector] = {};
  if (group < groups) {
    for (int key = begin + group; key < end; key += groups) {
      const T* v = static_cast<const T*>(layer.v) +
                   row_at(layer, table[key / layer.block_size], kv_head, key % layer.block_size);
      float x[kVector];
      load(v + column, x);
#pragma unroll
      for (int h = 0; h < kShare; ++h) {
        const float weight = score[h][key - base];
#pragma unroll
        for (int i = 0; i < kVector; ++i) sum[h][i] += weight * x[i];
      }
    }
  }

  // 4. The groups' sums, added in order, head by head through the same shared memory.
#pragma unroll
  for (int h = 0; h < kShare; ++h) {
    if (h >= heads) break;
    if (group < groups) {
#pragma unroll
      for (int i = 0; i < kVector; ++i) part[group * dim + column + i] = sum[h][i];
    }
    __syncthreads();
    float* out = a.partials +
                 ((static_cast<int64_t>(row) * a.heads + first_head + h) * a.splits + split) * dim;
    for (int d = threadIdx.x; d < dim; d += kThreads) {
      float total = 0;
      for (int g = 0; g < groups; ++g) total += part[g * dim + d];
      out[d] = total;
    }
    __syncthreads();
  }
}

/// Grid (rows, heads), kThreads threads: the splits' results made one.
template <class T>
__global__ void __launch_bounds__(kThreads) merge_splits(PagedAttention a) {
  const int dim = a.layer.head_dim;
  const int row = blockIdx.x;
  const int64_t head = static_cast<int64_t>(row) * a.heads + blockIdx.y;
  const int length = a.lengths[row];
  const int first = first_seen(length, a.window) / kSplit;
  const int last = (length - 1) / kSplit;
  const float* sums = a.sums + head * a.splits * 2;
  const float* partials = a.partials + head * a.splits * dim;
  float largest = -INFINITY;
  for (int s = first; s <= last; ++s) largest = fmaxf(largest, sums[2 * s]);
  float weights = 0;
  for (int s = first; s <= last; ++s) weights += expf(sums[2 * s] - largest) * sums[2 * s + 1];
  for (int d = threadIdx.x; d < dim; d += kThreads) {
    float total = 0;
    for (int s = first; s <= last; ++s) {
      total += expf(sums[2 * s] - largest) * partials[static_cast<int64_t>(s) * dim + d];
    }
    from_float(total / weights, static_cast<T*>(a.out)[head * dim + d]);
  }
}

/// Grid (tokens): new keys and values go to their slots, eight numbers at a time.
template <class T>
__global__ void __launch_bounds__(kThreads) store_rows(PagedStore s) {
  const PagedLayer& layer = s.layer;
  const int64_t token = blockIdx.x;
  const int slot = s.slots[token];
  const int across = layer.head_dim / kVector;
  for (int i = threadIdx.x; i < layer.kv_heads * across; i += kThreads) {
    const int64_t to = row_at(layer, slot / layer.block_size, i / across, slot % layer.block_size) +
                       i % across * kVector;
    const int64_t from = static_cast<int64_t>(i) * kVector;
    *reinterpret_cast<Pack<T>*>(static_cast<T*>(layer.k) + to) =
        *reinterpret_cast<const Pack<T>*>(static_cast<const T*>(s.k) + token * s.k_stride + from);
    *reinterpret_cast<Pack<T>*>(static_cast<T*>(layer.v) + to) =
        *reinterpret_cast<const Pack<T>*>(static_cast<const T*>(s.v) + token * s.v_stride + from);
  }
}

}  // namespace sluice::cuda
