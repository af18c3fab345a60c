#pragma once
#include "inference/cuda/device_kv_cache.h"
#include "inference/cuda/graph_bucket.h"
#include "inference/engine/step_executor.h"

#include <map>
#include <memory>
#include <vector>

namespace sluice {

struct DeviceOptions {
  bool graphs = true;            ///< record steps that only decode, and run the records
  int64_t max_graph_rows = 256;  ///< sequences of a recorded step at most
};

/// Computes an engine's steps on a device: weights and keys live there, a step's numbers go there
/// in one copy, its logits come back in one.
///
/// A step that only decodes is a record (DeviceGraph) of its bucket (graph_bucket), made when the
/// bucket is first met: its inputs are copied into the record's own tensors. Prompts, models with
/// experts or linear attention (they ask the host in the middle) and steps too large run plainly.
///
/// New weights are copied into the tensors that serve, so that records stay right; the copies that
/// place() made are whole before that begins. If the copying fails they serve themselves, and the
/// records are dropped: the weights that serve are the old or the new ones, never both.
///
///   ASSIGN_OR_RETURN(options.executor, make_executor("cuda:0"));  // inference/cuda/devices.h
///   ASSIGN_OR_RETURN(auto engine, Engine::create(model, options, version, clock));
class DeviceExecutor : public StepExecutor {
 public:
  struct Stats {
    int64_t captures = 0;
    int64_t replays = 0;
    int64_t plain = 0;  ///< steps that ran without a record
  };

  explicit DeviceExecutor(std::shared_ptr<const DeviceBackend> backend, DeviceOptions options = {});
  ~DeviceExecutor() override;

  [[nodiscard]] std::shared_ptr<const AttentionOp> attention() const override;
  [[nodiscard]] std::unique_ptr<PagedKvCache> make_cache(const TransformerConfig& config,
                                                         int32_t blocks, int32_t block_size,
                                                         KvFormat format) override;
  [[nodiscard]] Result<Parameters> place(const TransformerConfig& config,
                                         const Parameters& weights) const override;
  void install(std::unique_ptr<Transformer>& serving, std::unique_ptr<Transformer> next) override;
  [[nodiscard]] at::Tensor logits(const Transformer& model, const PackedBatch& batch,
                                  PagedKvCache& cache, const std::vector<int64_t>& wanted) override;

  [[nodiscard]] const Stats& stats() const noexcept { return stats_; }

 private:
  struct Recorded {
    StepInputs inputs;
    at::Tensor logits;
    std::unique_ptr<DeviceGraph> graph;
  };
  /// The record of a step's bucket, holding its inputs; null when it has to run plainly.
  Recorded* record(const Transformer& model, const PackedBatch& batch, DeviceKvCache& cache,
                   const std::vector<int64_t>& wanted);
  /// Null after a failure, which ends recording for good.
  std::unique_ptr<Recorded> capture(const Transformer& model, DeviceKvCache& cache,
                                    std::unique_ptr<Recorded> fresh);
  [[nodiscard]] StepInputs inputs_of(const StepShape& shape) const;
  void upload(const PackedBatch& batch, const DeviceKvCache& cache, const StepShape& shape,
              const StepInputs& to);
  at::Tensor to_host(const at::Tensor& logits);
  void wait() const;

  std::shared_ptr<const DeviceBackend> backend_;
  DeviceOptions options_;
  std::map<GraphBucket, std::unique_ptr<Recorded>> records_;
  at::Tensor host_inputs_;  ///< pinned where there is a device
  at::Tensor host_logits_;
  Stats stats_;
};

}  // namespace sluice
