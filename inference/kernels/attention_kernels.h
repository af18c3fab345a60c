#pragma once
#include "dataflow/base/cpu.h"

#include <cstdint>

namespace sluice {

/// How keys and values are stored. Arithmetic is fp32.
enum class KvFormat : uint8_t { Fp32, Bf16, Int8 };

/// Keys and values of one layer in blocks of tokens. Token t of a sequence with block table
/// `blocks`, key head h, lies at element blocks[t / block_size] * block_stride + h * head_stride +
/// t % block_size * slot_stride of both k and v.
struct PagedKvView {
  KvFormat format = KvFormat::Fp32;
  const void* k = nullptr;
  const void* v = nullptr;
  int64_t block_size = 0;
  int64_t block_stride = 0;
  int64_t head_stride = 0;
  int64_t slot_stride = 0;
  /// Int8: a factor per token and head, at (element / head_dim).
  const float* k_factors = nullptr;
  const float* v_factors = nullptr;
};

/// What one key head's queries attend to: rows of one sequence, each with the query heads that
/// share the key head.
struct AttentionTask {
  PagedKvView kv;
  const int32_t* blocks = nullptr;
  int64_t kv_head = 0;
  int64_t head_dim = 0;
  float scale = 0;
  float softcap = 0;         ///< 0: none
  int64_t window = 0;        ///< 0: none
  const float* q = nullptr;  ///< the first row's first head; a row's heads lie end to end
  int64_t q_stride = 0;      ///< from row to row
  int64_t rows = 0;
  int64_t share = 0;                 ///< query heads per row
  const int64_t* lengths = nullptr;  ///< keys that each row sees, [rows], before the window

  [[nodiscard]] int64_t queries() const noexcept { return rows * share; }
  [[nodiscard]] int64_t first_key(int64_t row) const noexcept {
    return window > 0 && lengths[row] > window ? lengths[row] - window : 0;
  }
};

/// Attention in splits of kSplit keys at fixed places, one table per Isa. A query's partial result
/// over a split, and the order in which they are merged, depend on nothing but its own row: neither
/// on the other rows nor on the variant.
struct AttentionKernels {
  static constexpr int64_t kSplit = 256;
  static constexpr int64_t kMaxQueries =
      32;  ///< rows * share of a task, except that one row may exceed it

  /// Numbers of a partial result of one query: weighted sum of the values, largest score, sum of
  /// weights.
  static constexpr int64_t partial_size(int64_t head_dim) noexcept {
    return (head_dim + 15) / 16 * 16 + 16;
  }
  static constexpr int64_t scratch_size(int64_t queries, int64_t head_dim) noexcept {
    return queries * (kSplit + 16) + (queries + 32) * ((head_dim + 15) / 16 * 16);
  }

  /// partial [queries][partial_size] of keys [split * kSplit, ...) of a task.
  void (*attend)(const AttentionTask& task, int64_t split, float* partial,
                 float* scratch) = nullptr;
  /// Adds the next split's partial to those of the splits before it.
  void (*merge)(float* total, const float* partial, int64_t queries, int64_t head_dim) = nullptr;
  /// A merged partial -> out [head_dim]; returns the log of the sum of exponentials.
  float (*finish)(const float* total, int64_t head_dim, float* out) = nullptr;
};

/// The table of a variant; the variant must be supported() on this CPU.
[[nodiscard]] const AttentionKernels& attention_kernels(Isa isa) noexcept;

namespace internal {
extern const AttentionKernels kAttentionPlain;
extern const AttentionKernels kAttentionAvx2;
extern const AttentionKernels kAttentionAvx512;
}  // namespace internal
}  // namespace sluice
