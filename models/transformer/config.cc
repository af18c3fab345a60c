#include "models/transformer/config.h"

#include <algorithm>

namespace sluice {
namespace {

constexpr int64_t kMaxSize = int64_t{1} << 30;
// Wide enough for any model there is; products of two of them, and sums of those, do not overflow.
constexpr int64_t kMaxWidth = int64_t{1} << 24;
constexpr int64_t kMaxVocabulary = int64_t{1} << 28;
// Experts of all layers: each is three names and shapes before any weight is looked for.
constexpr int64_t kMaxExperts = int64_t{1} << 17;

Status in_range(std::string_view what, int64_t value, int64_t low, int64_t high = kMaxSize) {
  if (value >= low && value <= high) return {};
  return invalid_argument("{} is {}, must be {} to {}", what, value, low, high);
}

Status check_experts(const ExpertConfig& e) {
  RETURN_IF_ERROR(in_range("num_experts", e.count, 1, 1 << 16));
  RETURN_IF_ERROR(in_range("num_experts_per_tok", e.per_token, 1, e.count));
  RETURN_IF_ERROR(in_range("moe_intermediate_size", e.intermediate_size, 1, kMaxWidth));
  return in_range("shared_expert_intermediate_size", e.shared_intermediate_size, 0, kMaxWidth);
}

Status check_gated_delta(const GatedDeltaConfig& g) {
  RETURN_IF_ERROR(in_range("linear_num_key_heads", g.key_heads, 1, 1 << 16));
  RETURN_IF_ERROR(in_range("linear_num_value_heads", g.value_heads, 1, 1 << 16));
  RETURN_IF_ERROR(in_range("linear_key_head_dim", g.key_dim, 1, 1 << 16));
  RETURN_IF_ERROR(in_range("linear_value_head_dim", g.value_dim, 1, 1 << 16));
  RETURN_IF_ERROR(in_range("linear_conv_kernel_dim", g.conv_kernel, 1, 1 << 10));
  RETURN_IF_ERROR(in_range("linear_num_key_heads x linear_key_head_dim", g.key_heads * g.key_dim, 1,
                           kMaxWidth));
  RETURN_IF_ERROR(in_range("linear_num_value_heads x linear_value_head_dim",
                           g.value_heads * g.value_dim, 1, kMaxWidth));
  if (g.value_heads % g.key_heads == 0) return {};
  return invalid_argument("linear_num_value_heads {} is no multiple of linear_num_key_heads {}",
                          g.value_heads, g.key_heads);
}

Status check_rope(const RopeConfig& rope, int64_t head_dim) {
  if (rope.type == RopeType::None) return {};
  if (!(rope.partial_rotary_factor > 0 && rope.partial_rotary_factor <= 1)) {
    return invalid_argument("partial_rotary_factor is {}, must be above 0 and at most 1",
                            rope.partial_rotary_factor);
  }
  const int64_t dim = rotary_dim(rope, head_dim);
  if (dim < 2 || dim % 2 != 0 || dim > head_dim) {
    return invalid_argument("{} of {} head dimensions are rotated: must be even and at least 2",
                            dim, head_dim);
  }
  if (!(rope.theta > 0)) return invalid_argument("rope_theta is {}, must be positive", rope.theta);
  if (!(rope.factor > 0)) return invalid_argument("rope factor {} is not positive", rope.factor);
  if (rope.type == RopeType::Llama3 &&
      !(rope.high_freq_factor > rope.low_freq_factor && rope.low_freq_factor > 0)) {
    return invalid_argument("rope high_freq_factor {} must be above low_freq_factor {} above 0",
                            rope.high_freq_factor, rope.low_freq_factor);
  }
  if (rope.type == RopeType::Llama3 || rope.type == RopeType::Yarn) {
    return in_range("original_max_position_embeddings", rope.original_max_positions, 1);
  }
  return {};
}

}  // namespace

Status check(const TransformerConfig& c) {
  RETURN_IF_ERROR(in_range("vocab_size", c.vocab_size, 1, kMaxVocabulary));
  RETURN_IF_ERROR(in_range("hidden_size", c.hidden_size, 1, kMaxWidth));
  RETURN_IF_ERROR(in_range("intermediate_size", c.intermediate_size, 1, kMaxWidth));
  RETURN_IF_ERROR(in_range("num_hidden_layers", static_cast<int64_t>(c.layers.size()), 1, 1 << 14));
  RETURN_IF_ERROR(in_range("num_attention_heads", c.heads, 1, 1 << 16));
  RETURN_IF_ERROR(in_range("num_key_value_heads", c.kv_heads, 1, 1 << 16));
  RETURN_IF_ERROR(in_range("head_dim", c.head_dim, 1, 1 << 16));
  RETURN_IF_ERROR(in_range("num_attention_heads x head_dim", c.heads * c.head_dim, 1, kMaxWidth));
  RETURN_IF_ERROR(in_range("max_position_embeddings", c.max_positions, 1));
  if (c.heads % c.kv_heads != 0) {
    return invalid_argument("num_key_value_heads {} does not divide num_attention_heads {}",
                            c.kv_heads, c.heads);
  }
  if (!(c.norm_eps >= 0)) return invalid_argument("the norm's epsilon is {}", c.norm_eps);
  RETURN_IF_ERROR(check_rope(c.rope, c.head_dim));
  int64_t experts = 0;
  for (const LayerConfig& layer : c.layers) {
    experts += layer.experts ? c.experts.count : 0;
    RETURN_IF_ERROR(in_range("sliding_window", layer.window, 0));
    if (layer.experts) RETURN_IF_ERROR(check_experts(c.experts));
    if (layer.mixer == MixerKind::GatedDelta) RETURN_IF_ERROR(check_gated_delta(c.gated_delta));
  }
  RETURN_IF_ERROR(in_range("num_experts of all layers", experts, 0, kMaxExperts));
  if (c.head == HeadKind::Classifier) {
    RETURN_IF_ERROR(in_range("num_labels", c.num_labels, 1, 1 << 16));
  }
  return {};
}

int64_t context_length(const TransformerConfig& c) noexcept {
  const RopeConfig& rope = c.rope;
  if (c.learned_positions || rope.type == RopeType::None || rope.type == RopeType::Default ||
      rope.type == RopeType::Llama3) {
    return c.max_positions;
  }
  // These are also written into the config of a model that was trained on fewer positions.
  const int64_t trained =
      rope.type == RopeType::Yarn ? rope.original_max_positions : c.max_positions;
  const double stretched = static_cast<double>(trained) * rope.factor;
  return std::max(c.max_positions, static_cast<int64_t>(std::min(stretched, 1e15)));
}

}  // namespace sluice
