#pragma once
// The loops of AttentionKernels (FlashAttention's split over keys, arXiv 2205.14135 and
// 2311.01282); each kernels_*.cc that includes this is compiled for one instruction set.
#include "inference/kernels/attention_kernels.h"
#include "inference/kernels/simd16.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sluice {
namespace {

constexpr int64_t kLanes = 16;
constexpr int64_t kSplit = AttentionKernels::kSplit;
constexpr int64_t kChunk = 32;  // keys that are decoded at a time: they stay in the L1 cache
constexpr int64_t kScoreRow = kSplit + kLanes;
constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

inline int64_t padded(int64_t head_dim) { return (head_dim + kLanes - 1) / kLanes * kLanes; }

/// out[i] = q . key i for the first eight of n keys; writes eight numbers whatever n.
inline void dots(const float* q, int64_t dim, const float* keys, int64_t ld, int64_t n,
                 float* out) {
  F8 folds[8];
  for (int half = 0; half < 2; ++half) {
    const float* key[4];
    F16 sum[4];
    for (int i = 0; i < 4; ++i) {
      key[i] = keys + std::min<int64_t>(4 * half + i, n - 1) * ld;
      sum[i] = zero16();
    }
    for (int64_t d = 0; d < dim; d += kLanes) {
      const F16 own = load16(q + d);
      for (int i = 0; i < 4; ++i) sum[i] = fma(own, load16(key[i] + d), sum[i]);
    }
    for (int i = 0; i < 4; ++i) folds[4 * half + i] = fold(sum[i]);
  }
  sums8(folds, out);
}

/// sum[0 .. 16 N) += weights[i] * value i, in order of i.
template <int N>
inline void add_values(const float* weights, const float* values, int64_t ld, int64_t n,
                       float* sum) {
  F16 total[N];
  for (int i = 0; i < N; ++i) total[i] = load16(sum + i * kLanes);
  for (int64_t j = 0; j < n; ++j) {
    const F16 weight = all16(weights[j]);
    for (int i = 0; i < N; ++i) {
      total[i] = fma(weight, load16(values + j * ld + i * kLanes), total[i]);
    }
  }
  for (int i = 0; i < N; ++i) store16(sum + i * kLanes, total[i]);
}
inline void add_values(const float* weights, const float* values, int64_t ld, int64_t n,
                       int64_t dim, float* sum) {
  int64_t d = 0;
  for (; d + 4 * kLanes <= dim; d += 4 * kLanes) {
    add_values<4>(weights, values + d, ld, n, sum + d);
  }
  if (d + 2 * kLanes <= dim) {
    add_values<2>(weights, values + d, ld, n, sum + d);
    d += 2 * kLanes;
  }
  if (d < dim) add_values<1>(weights, values + d, ld, n, sum + d);
}

/// cap * tanh(x / cap).
inline F16 soft_capped(F16 x, F16 cap) {
  const F16 one = all16(1);
  const F16 e = exp16(mul(all16(2), div(x, cap)));
  return mul(cap, sub(one, div(all16(2), add(e, one))));
}

/// Scores at [begin, end) of a row of kSplit become weights e^(score - largest), zero elsewhere in
/// their vectors. Returns largest and sum.
struct Softmax {
  float largest;
  float sum;
};
inline Softmax soften(float* scores, int64_t begin, int64_t end, float scale, float softcap) {
  const int64_t from = begin / kLanes * kLanes;
  const int64_t to = (end + kLanes - 1) / kLanes * kLanes;
  const auto fill = [&](float x) {
    for (int64_t i = from; i < begin; ++i) scores[i] = x;
    for (int64_t i = end; i < to; ++i) scores[i] = x;
  };
  fill(0);
  const F16 factor = all16(scale);
  const F16 cap = all16(softcap);
  for (int64_t i = from; i < to; i += kLanes) {
    F16 s = mul(load16(scores + i), factor);
    if (softcap > 0) s = soft_capped(s, cap);
    store16(scores + i, s);
  }
  fill(kMinusInfinity);
  F16 most = all16(kMinusInfinity);
  for (int64_t i = from; i < to; i += kLanes) most = max(most, load16(scores + i));
  const float largest = max16(most);
  const F16 shift = all16(largest);
  F16 sum = zero16();
  for (int64_t i = from; i < to; i += kLanes) {
    const F16 weight = exp16(sub(load16(scores + i), shift));
    store16(scores + i, weight);
    sum = add(sum, weight);
  }
  return {largest, sum16(sum)};
}

/// A run of keys (or values) inside one block, as floats.
struct Run {
  const float* data;
  int64_t ld;
};
inline Run floats_of(const AttentionTask& t, const void* stored, const float* factors, int64_t key,
                     int64_t n, float* buffer) {
  const PagedKvView& kv = t.kv;
  const int64_t at = t.blocks[key / kv.block_size] * kv.block_stride + t.kv_head * kv.head_stride +
                     key % kv.block_size * kv.slot_stride;
  const int64_t dim = padded(t.head_dim);
  if (kv.format == KvFormat::Fp32) {
    const float* p = static_cast<const float*>(stored) + at;
    if (dim == t.head_dim) return {p, kv.slot_stride};
    for (int64_t j = 0; j < n; ++j) {
      float* out = buffer + j * dim;
      std::copy(p + j * kv.slot_stride, p + j * kv.slot_stride + t.head_dim, out);
      std::fill(out + t.head_dim, out + dim, 0.0F);
    }
    return {buffer, dim};
  }
  const int64_t whole = t.head_dim / kLanes * kLanes;
  for (int64_t j = 0; j < n; ++j) {
    float* out = buffer + j * dim;
    const int64_t from = at + j * kv.slot_stride;
    std::fill(out + whole, out + dim, 0.0F);
    if (kv.format == KvFormat::Bf16) {
      const uint16_t* p = static_cast<const uint16_t*>(stored) + from;
      for (int64_t d = 0; d < whole; d += kLanes) store16(out + d, load_bf16(p + d));
      for (int64_t d = whole; d < t.head_dim; ++d) {
        const uint32_t bits = static_cast<uint32_t>(p[d]) << 16;
        std::memcpy(out + d, &bits, sizeof bits);
      }
    } else {
      const int8_t* p = static_cast<const int8_t*>(stored) + from;
      const float factor = factors[from / t.head_dim];
      const F16 factors16 = all16(factor);
      for (int64_t d = 0; d < whole; d += kLanes) {
        store16(out + d, mul(load_int8(p + d), factors16));
      }
      for (int64_t d = whole; d < t.head_dim; ++d) out[d] = static_cast<float>(p[d]) * factor;
    }
  }
  return {buffer, dim};
}

/// f(row, first key, end, run) for every row that sees some of each run of the split's keys.
template <class F>
inline void each_run(const AttentionTask& t, int64_t split, const void* stored,
                     const float* factors, float* buffer, const F& f) {
  int64_t key = std::numeric_limits<int64_t>::max();
  int64_t end = 0;
  for (int64_t r = 0; r < t.rows; ++r) {
    key = std::min(key, t.first_key(r));
    end = std::max(end, t.lengths[r]);
  }
  key = std::max(key, split * kSplit);
  end = std::min(end, (split + 1) * kSplit);
  while (key < end) {
    const int64_t n = std::min({kChunk, end - key, t.kv.block_size - key % t.kv.block_size});
    const Run run = floats_of(t, stored, factors, key, n, buffer);
    for (int64_t r = 0; r < t.rows; ++r) {
      const int64_t from = std::max(key, t.first_key(r));
      const int64_t to = std::min(key + n, t.lengths[r]);
      if (from < to) f(r, from, to, Run{run.data + (from - key) * run.ld, run.ld});
    }
    key += n;
  }
}

void attend(const AttentionTask& t, int64_t split, float* partial, float* scratch) {
  const int64_t dim = padded(t.head_dim);
  const int64_t size = AttentionKernels::partial_size(t.head_dim);
  const int64_t start = split * kSplit;
  float* scores = scratch;
  float* q = scores + t.queries() * kScoreRow;
  float* buffer = q + t.queries() * dim;
  for (int64_t i = 0; i < t.queries(); ++i) {
    const float* from = t.q + i / t.share * t.q_stride + i % t.share * t.head_dim;
    std::copy(from, from + t.head_dim, q + i * dim);
    std::fill(q + i * dim + t.head_dim, q + (i + 1) * dim, 0.0F);
  }
  each_run(t, split, t.kv.k, t.kv.k_factors, buffer,
           [&](int64_t r, int64_t from, int64_t to, const Run& run) {
             for (int64_t i = r * t.share; i < (r + 1) * t.share; ++i) {
               float* out = scores + i * kScoreRow + from - start;
               for (int64_t j = 0; j < to - from; j += 8) {
                 // What it writes behind `to` is overwritten by later runs or not read.
                 dots(q + i * dim, dim, run.data + j * run.ld, run.ld, to - from - j, out + j);
               }
             }
           });
  for (int64_t i = 0; i < t.queries(); ++i) {
    const int64_t r = i / t.share;
    const int64_t from = std::max(start, t.first_key(r)) - start;
    const int64_t to = std::min(start + kSplit, t.lengths[r]) - start;
    float* own = partial + i * size;
    std::fill(own, own + dim, 0.0F);
    const Softmax s = from < to ? soften(scores + i * kScoreRow, from, to, t.scale, t.softcap)
                                : Softmax{kMinusInfinity, 0};
    own[dim] = s.largest;
    own[dim + 1] = s.sum;
  }
  each_run(t, split, t.kv.v, t.kv.v_factors, buffer,
           [&](int64_t r, int64_t from, int64_t to, const Run& run) {
             for (int64_t i = r * t.share; i < (r + 1) * t.share; ++i) {
               add_values(scores + i * kScoreRow + from - start, run.data, run.ld, to - from, dim,
                          partial + i * size);
             }
           });
}

inline float exp_of(float x) {
  float lanes[kLanes];
  store16(lanes, exp16(all16(x)));
  return lanes[0];
}

void merge(float* total, const float* partial, int64_t queries, int64_t head_dim) {
  const int64_t dim = padded(head_dim);
  const int64_t size = AttentionKernels::partial_size(head_dim);
  for (int64_t i = 0; i < queries; ++i, total += size, partial += size) {
    if (partial[dim + 1] == 0) continue;  // it saw no key of this split
    if (total[dim + 1] == 0) {
      std::copy(partial, partial + size, total);
      continue;
    }
    const float largest = std::max(total[dim], partial[dim]);
    const float a = exp_of(total[dim] - largest);
    const float b = exp_of(partial[dim] - largest);
    for (int64_t d = 0; d < dim; d += kLanes) {
      const F16 other = mul(load16(partial + d), all16(b));
      store16(total + d, fma(load16(total + d), all16(a), other));
    }
    total[dim] = largest;
    total[dim + 1] = total[dim + 1] * a + partial[dim + 1] * b;
  }
}

float finish(const float* total, int64_t head_dim, float* out) {
  const int64_t dim = padded(head_dim);
  const float inverse = 1 / total[dim + 1];
  for (int64_t d = 0; d < head_dim; ++d) out[d] = total[d] * inverse;
  return total[dim] + std::log(total[dim + 1]);
}

constexpr AttentionKernels kAttentionTable = {attend, merge, finish};

}  // namespace
}  // namespace sluice
