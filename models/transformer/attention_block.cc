#include "models/transformer/blocks.h"

#include <ATen/ATen.h>

namespace sluice {

Linear linear_at(const Parameters& parameters, const std::string& name) {
  return {name, parameters.at(name + ".weight"), parameters.get(name + ".bias")};
}

Norm norm_at(const Parameters& parameters, const TransformerConfig& config,
             const std::string& name) {
  return {config.norm, config.norm_eps, config.norm_unit_offset, parameters.at(name + ".weight"),
          parameters.get(name + ".bias")};
}

AttentionBlock::AttentionBlock(const TransformerConfig& config, const Parameters& parameters,
                               int64_t layer)
    : shape_{config.heads, config.kv_heads, config.head_dim}, gated_(config.attention_gate) {
  const LayerConfig& own = config.layers[static_cast<size_t>(layer)];
  rope_ = own.rope && config.rope.type != RopeType::None;
  spec_.layer = layer;
  spec_.heads = config.heads;
  spec_.kv_heads = config.kv_heads;
  spec_.head_dim = config.head_dim;
  spec_.scale = config.attention_scale;
  if (config.scale_by_layer) spec_.scale /= static_cast<double>(layer + 1);
  spec_.window = own.window;
  spec_.logit_softcap = config.attention_softcap;
  const std::string at = fmt::format("model.layers.{}.self_attn", layer);
  for (const char* name : {".q_proj", ".k_proj", ".v_proj"}) {
    qkv_.push_back(linear_at(parameters, at + name));
  }
  out_ = linear_at(parameters, at + ".o_proj");
  if (config.qk_norm) {
    q_norm_ = norm_at(parameters, config, at + ".q_norm");
    k_norm_ = norm_at(parameters, config, at + ".k_norm");
  }
}

Heads AttentionBlock::gated_heads(const at::Tensor& qkv, at::Tensor& gate) const {
  const int64_t q = shape_.heads * shape_.head_dim;
  const int64_t kv = shape_.kv_heads * shape_.head_dim;
  const auto parts = qkv.split_with_sizes({2 * q, kv, kv}, -1);
  // Each head's query is followed by its gate.
  const auto halves = parts[0].unflatten(-1, {shape_.heads, 2 * shape_.head_dim}).chunk(2, -1);
  gate = halves[1].flatten(1);
  return {halves[0], parts[1].unflatten(-1, {shape_.kv_heads, shape_.head_dim}),
          parts[2].unflatten(-1, {shape_.kv_heads, shape_.head_dim})};
}

Heads AttentionBlock::project(const at::Tensor& x, const ForwardContext& context,
                              at::Tensor& gate) const {
  const at::Tensor qkv = context.linear.apply_group(qkv_, x);
  const RopeTable* rope = rope_ ? context.rope : nullptr;
  const bool normed = q_norm_.weight.defined();
  if (!gated_ && !normed) return split_heads(qkv, shape_, rope);
  Heads heads = gated_ ? gated_heads(qkv, gate) : split_heads(qkv, shape_, nullptr);
  if (normed) {
    heads.q = normalise(q_norm_, heads.q);
    heads.k = normalise(k_norm_, heads.k);
  }
  if (rope != nullptr) {
    heads.q = rotate(heads.q, *rope);
    heads.k = rotate(heads.k, *rope);
  }
  return heads;
}

at::Tensor AttentionBlock::forward(const at::Tensor& x, const ForwardContext& context) const {
  at::Tensor gate;
  const Heads heads = project(x, context, gate);
  at::Tensor out =
      context.attention.apply(spec_, heads.q, heads.k, heads.v, context.batch, context.cache)
          .flatten(1);
  if (gate.defined()) out = out * at::sigmoid(gate);
  return context.linear.apply(out_, out);
}

}  // namespace sluice
