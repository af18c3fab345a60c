#pragma once
#include "dataflow/base/result.h"
#include "models/transformer/rope.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

enum class NormKind : uint8_t { Rms, Layer };
enum class MlpActivation : uint8_t { Silu, GeluTanh, Gelu, Relu };
enum class MixerKind : uint8_t { Attention, GatedDelta };
/// What stands on top of the last hidden state.
enum class HeadKind : uint8_t {
  Language,    ///< a score for every token of the vocabulary
  Value,       ///< one number per token
  Classifier,  ///< `num_labels` numbers per sequence, from its last token
};

/// What may differ from layer to layer.
struct LayerConfig {
  MixerKind mixer = MixerKind::Attention;
  int64_t window = 0;  ///< sliding attention: tokens that a token sees, itself included; 0: all
  bool rope = true;    ///< false: no positions in this layer
  bool experts = false;

  bool operator==(const LayerConfig&) const = default;
};

/// Mixture of experts (arXiv 1701.06538) and how its router's scores become weights.
struct ExpertConfig {
  int64_t count = 0;  ///< 0: none
  int64_t per_token = 0;
  int64_t intermediate_size = 0;
  bool softmax_before_topk = true;       ///< false: over the chosen scores only
  bool normalise_topk = true;            ///< the weights of a token sum to 1
  int64_t shared_intermediate_size = 0;  ///< an expert that every token visits, gated; 0: none

  bool operator==(const ExpertConfig&) const = default;
};

/// Shapes of the linear-attention layer (gated delta rule, arXiv 2412.06464).
struct GatedDeltaConfig {
  int64_t key_heads = 0;
  int64_t value_heads = 0;  ///< a multiple of key_heads
  int64_t key_dim = 0;      ///< of one head
  int64_t value_dim = 0;    ///< of one head
  int64_t conv_kernel = 0;

  bool operator==(const GatedDeltaConfig&) const = default;
};

/// A decoder-only transformer as plain switches; the forward knows no architecture by name.
struct TransformerConfig {
  std::string family;  ///< who reads and writes it: "llama", "qwen2", ... (architecture.h)
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  int64_t intermediate_size = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  int64_t max_positions = 0;
  std::vector<LayerConfig> layers;

  NormKind norm = NormKind::Rms;
  double norm_eps = 1e-6;
  bool norm_unit_offset = false;  ///< RMSNorm multiplies by 1 + weight
  bool post_norms = false;        ///< attention and MLP outputs are normalised too
  bool qk_norm = false;           ///< RMSNorm over each head of q and k, before rotation
  double embedding_scale = 1;
  bool learned_positions = false;
  RopeConfig rope;

  bool qkv_bias = false;
  bool output_bias = false;      ///< of the attention's output projection
  double attention_scale = 0;    ///< factor of q k^T
  bool scale_by_layer = false;   ///< and divided by layer + 1
  double attention_softcap = 0;  ///< 0: none
  bool attention_gate = false;   ///< the output is multiplied by sigmoid of a second query half

  MlpActivation activation = MlpActivation::Silu;
  bool gated_mlp = true;  ///< down(act(gate x) * up x), else down(act(up x))
  bool mlp_bias = false;
  ExpertConfig experts;
  GatedDeltaConfig gated_delta;

  HeadKind head = HeadKind::Language;
  int64_t num_labels = 0;
  bool tied_head = false;
  double logit_softcap = 0;  ///< 0: none
  double initializer_range = 0.02;

  /// Ids with a meaning; the forward does not look at them. -1, or empty: none.
  int64_t bos_token = -1;
  int64_t pad_token = -1;
  std::vector<int64_t> eos_tokens;

  bool operator==(const TransformerConfig&) const = default;
};

/// InvalidArgument naming the first number that cannot be: sizes that do not divide, a head without
/// labels, a window below 0 and so on. Every config that was read from a file has passed it.
Status check(const TransformerConfig& config);

/// Positions that the model was made for: those of its config, stretched by its RoPE scaling.
[[nodiscard]] int64_t context_length(const TransformerConfig& config) noexcept;

}  // namespace sluice
