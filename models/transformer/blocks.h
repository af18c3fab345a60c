#pragma once
#include "models/transformer/functional.h"
#include "models/transformer/ops.h"
#include "models/transformer/parameters.h"

#include <vector>

/// The blocks of a layer: their weights, looked up once, and their forward.
namespace sluice {

/// What one forward hands to every block.
struct ForwardContext {
  const LinearOp& linear;
  const AttentionOp& attention;
  const PackedBatch& batch;
  const RopeTable* rope;  ///< null: the model has no rotary positions
  KvCache* cache;         ///< may be null
};

/// The layer `name` of `parameters`, with its bias if there is one.
[[nodiscard]] Linear linear_at(const Parameters& parameters, const std::string& name);
[[nodiscard]] Norm norm_at(const Parameters& parameters, const TransformerConfig& config,
                           const std::string& name);

class AttentionBlock {
 public:
  AttentionBlock(const TransformerConfig& config, const Parameters& parameters, int64_t layer);
  /// x [tokens, hidden] -> [tokens, hidden].
  [[nodiscard]] at::Tensor forward(const at::Tensor& x, const ForwardContext& context) const;

 private:
  /// q, k and v of a layer whose query projection also makes the output's gate.
  [[nodiscard]] Heads gated_heads(const at::Tensor& qkv, at::Tensor& gate) const;
  [[nodiscard]] Heads project(const at::Tensor& x, const ForwardContext& context,
                              at::Tensor& gate) const;

  AttentionSpec spec_;
  HeadShape shape_;
  bool rope_;
  bool gated_;
  std::vector<Linear> qkv_;
  Linear out_;
  Norm q_norm_;  ///< weight undefined: none
  Norm k_norm_;
};

/// down(act(gate x) * up x), or down(act(up x)).
class MlpBlock {
 public:
  MlpBlock(const TransformerConfig& config, const Parameters& parameters, const std::string& at);
  [[nodiscard]] at::Tensor forward(const at::Tensor& x, const LinearOp& linear) const;

 private:
  MlpActivation activation_;
  bool gated_;
  std::vector<Linear> in_;
  Linear down_;
};

/// Each token goes through the few MLPs that its router scores highest.
class ExpertsBlock {
 public:
  ExpertsBlock(const TransformerConfig& config, const Parameters& parameters,
               const std::string& at);
  [[nodiscard]] at::Tensor forward(const at::Tensor& x, const LinearOp& linear) const;

 private:
  ExpertConfig config_;
  Linear router_;
  std::vector<MlpBlock> experts_;
  std::vector<MlpBlock> shared_;  ///< none or one
  Linear shared_gate_;
};

struct Routing {
  at::Tensor experts;  ///< int64 [tokens, per_token]
  at::Tensor weights;  ///< [tokens, per_token]
};
/// Chooses experts from router scores [tokens, experts]; softmax in fp32 (fp64 stays fp64).
[[nodiscard]] Routing route(const ExpertConfig& config, const at::Tensor& scores);

/// The linear-attention layer: a short causal convolution, then the gated delta rule.
class GatedDeltaBlock {
 public:
  GatedDeltaBlock(const TransformerConfig& config, const Parameters& parameters, int64_t layer);
  [[nodiscard]] at::Tensor forward(const at::Tensor& x, const ForwardContext& context) const;

 private:
  [[nodiscard]] at::Tensor sequence(const at::Tensor& qkv, const at::Tensor& decay,
                                    const at::Tensor& beta, int64_t index, KvCache* cache) const;
  GatedDeltaConfig config_;
  int64_t layer_;
  Linear in_qkvz_;
  Linear in_ba_;
  Linear out_;
  at::Tensor conv_;
  at::Tensor dt_bias_;
  at::Tensor decay_log_;
  Norm norm_;
};

}  // namespace sluice
