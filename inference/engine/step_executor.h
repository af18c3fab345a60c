#pragma once
#include "inference/engine/paged_kv_cache.h"
#include "models/transformer/model.h"

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

namespace sluice {

/// Where an engine computes when that is not plainly on the CPU: where its weights, keys and values
/// lie, how it attends, and how a step's forward runs. One engine's own; only place() may be called
/// beside a step. What fails throws, as LibTorch does: the engine then undoes the step.
class StepExecutor {
 public:
  virtual ~StepExecutor() = default;

  /// Attention over the cache below.
  [[nodiscard]] virtual std::shared_ptr<const AttentionOp> attention() const = 0;
  /// The memory of `blocks` blocks; called once.
  [[nodiscard]] virtual std::unique_ptr<PagedKvCache> make_cache(const TransformerConfig& config,
                                                                 int32_t blocks, int32_t block_size,
                                                                 KvFormat format) = 0;
  /// Copies of weights where they may serve; complete when it returns. Any thread.
  [[nodiscard]] virtual Result<Parameters> place(const TransformerConfig& config,
                                                 const Parameters& weights) const = 0;
  /// Makes `next`, over placed weights, serve in place of `serving` (null: the first). Between two
  /// steps.
  virtual void install(std::unique_ptr<Transformer>& serving,
                       std::unique_ptr<Transformer> next) = 0;
  /// The logits, fp32 [wanted, vocab] on the CPU, behind tokens `wanted` of a batch whose sequences
  /// the cache was told of (begin). Valid until the next call; undefined when none are wanted.
  [[nodiscard]] virtual at::Tensor logits(const Transformer& model, const PackedBatch& batch,
                                          PagedKvCache& cache,
                                          const std::vector<int64_t>& wanted) = 0;
};

}  // namespace sluice
