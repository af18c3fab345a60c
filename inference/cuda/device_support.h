#pragma once
#include "inference/cuda/device_executor.h"
#include "inference/engine/engine_support.h"

#include <memory>
#include <vector>

/// For tests: the same checks for the backend on the CPU and for a GPU.
namespace sluice::device_support {

/// engine_support::options() on an executor.
EngineOptions on(std::shared_ptr<DeviceExecutor> executor);

/// What a mixture of requests (forks, prompts in one and two chunks, drawn and greedy) comes to.
std::vector<Completion> run_mixture(engine_support::Runner& runner);
/// The same tokens, and log-probs within `tolerance`.
void expect_same(const std::vector<Completion>& got, const std::vector<Completion>& want,
                 double tolerance = 1e-4);
/// What an engine on the CPU that only ever had `weights` makes of the mixture.
std::vector<Completion> on_the_cpu(const Transformer& model, const Parameters& weights);

/// Rows of random keys and values, scattered over blocks of a cache that is NaN elsewhere.
struct PagedCase {
  AttentionSpec spec;
  std::vector<int64_t> lengths;
  int64_t block_size = 8;
  at::ScalarType dtype = at::kFloat;
  int64_t spare_width = 0;  ///< columns of the tables behind what is needed
};
struct PagedData {
  std::vector<at::Tensor> k;  ///< of each row, [length, kv_heads, head_dim]
  std::vector<at::Tensor> v;
  at::Tensor q;      ///< [rows, heads, head_dim]
  at::Tensor slots;  ///< of all tokens, row after row
  at::Tensor keys;   ///< not stored yet: NaN
  at::Tensor values;
  at::Tensor tables;
  at::Tensor lengths;

  [[nodiscard]] PagedRows rows() const { return {keys, values, tables, lengths}; }
};
PagedData make_paged(const PagedCase& c, const at::Device& device);
/// Shapes that a kernel must get right: shared heads, windows, caps, long rows, all types.
std::vector<PagedCase> paged_cases();

}  // namespace sluice::device_support
