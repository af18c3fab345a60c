#include "models/transformer/model.h"

#include "models/transformer/attention_ops.h"
#include "models/transformer/blocks.h"
#include "models/transformer/linear_ops.h"
#include "models/transformer/recompute.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <optional>

namespace sluice {

struct Transformer::Layer {
  Norm input_norm;
  Norm attention_norm;  ///< after attention; before the MLP unless there are post norms
  std::optional<Norm> mlp_norm;
  std::optional<Norm> output_norm;
  std::optional<AttentionBlock> attention;
  std::optional<GatedDeltaBlock> gated_delta;
  std::optional<MlpBlock> mlp;
  std::optional<ExpertsBlock> experts;

  Layer(const TransformerConfig& c, const Parameters& p, int64_t index) {
    const std::string at = fmt::format("model.layers.{}", index);
    const LayerConfig& own = c.layers[static_cast<size_t>(index)];
    input_norm = norm_at(p, c, at + ".input_layernorm");
    attention_norm = norm_at(p, c, at + ".post_attention_layernorm");
    if (c.post_norms) {
      mlp_norm = norm_at(p, c, at + ".pre_feedforward_layernorm");
      output_norm = norm_at(p, c, at + ".post_feedforward_layernorm");
    }
    if (own.mixer == MixerKind::Attention) {
      attention.emplace(c, p, index);
    } else {
      gated_delta.emplace(c, p, index);
    }
    if (own.experts) {
      experts.emplace(c, p, at + ".mlp");
    } else {
      mlp.emplace(c, p, at + ".mlp");
    }
  }

  [[nodiscard]] at::Tensor mix(const at::Tensor& x, const ForwardContext& context) const {
    return attention ? attention->forward(x, context) : gated_delta->forward(x, context);
  }
  [[nodiscard]] at::Tensor feed(const at::Tensor& x, const ForwardContext& context) const {
    return mlp ? mlp->forward(x, context.linear) : experts->forward(x, context.linear);
  }

  /// h + this layer, and that normalised by `next`.
  [[nodiscard]] AddedNorm forward(const AddedNorm& in, const Norm& next,
                                  const ForwardContext& context) const {
    at::Tensor mixed = mix(in.normed, context);
    if (mlp_norm) mixed = normalise(attention_norm, mixed);
    const AddedNorm middle = add_normalise(mlp_norm.value_or(attention_norm), in.sum, mixed);
    at::Tensor fed = feed(middle.normed, context);
    if (output_norm) fed = normalise(*output_norm, fed);
    return add_normalise(next, middle.sum, fed);
  }
};

struct Transformer::Blocks {
  std::vector<Layer> layers;
  Norm norm;
  Linear head;
  at::Tensor embedding;
  at::Tensor positions;
  at::Tensor rope_frequencies;
};

Transformer::Transformer(TransformerConfig config, Parameters parameters,
                         std::shared_ptr<const LinearOp> linear,
                         std::shared_ptr<const AttentionOp> attention)
    : config_(std::move(config)),
      parameters_(std::move(parameters)),
      linear_(linear ? std::move(linear) : std::make_shared<PlainLinearOp>()),
      attention_(attention ? std::move(attention) : std::make_shared<SdpaAttentionOp>()),
      blocks_(std::make_unique<Blocks>()) {
  for (size_t i = 0; i < config_.layers.size(); ++i) {
    blocks_->layers.emplace_back(config_, parameters_, static_cast<int64_t>(i));
  }
  blocks_->norm = norm_at(parameters_, config_, "model.norm");
  blocks_->embedding = parameters_.at("model.embed_tokens.weight");
  blocks_->positions = parameters_.get("model.embed_positions.weight");
  blocks_->rope_frequencies = sluice::rope_frequencies(
      config_.rope, config_.head_dim, config_.max_positions, blocks_->embedding.device());
  if (config_.head != HeadKind::Language) {
    blocks_->head = linear_at(parameters_, "score");
  } else if (config_.tied_head) {
    blocks_->head = {"lm_head", blocks_->embedding, {}};
  } else {
    blocks_->head = linear_at(parameters_, "lm_head");
  }
}
Transformer::~Transformer() = default;
Transformer::Transformer(Transformer&&) noexcept = default;
Transformer& Transformer::operator=(Transformer&&) noexcept = default;

at::Tensor Transformer::embed(const PackedBatch& batch) const {
  at::Tensor h = linear_->embed(blocks_->embedding, batch.tokens);
  if (config_.embedding_scale != 1) {
    // The reference rounds the factor to the weights' type first.
    h = h * at::scalar_tensor(config_.embedding_scale, h.options().requires_grad(false));
  }
  if (blocks_->positions.defined()) {
    h = h + linear_->embed(blocks_->positions, batch.positions);
  }
  return h;
}

bool continues_sequences(const TransformerConfig& config) noexcept {
  const auto attends = [](const LayerConfig& l) { return l.mixer == MixerKind::Attention; };
  return std::all_of(config.layers.begin(), config.layers.end(), attends) &&
         !rope_by_sequence(config.rope);
}

at::Tensor Transformer::forward(const PackedBatch& batch, KvCache* cache) const {
  SLUICE_CHECK(batch.parents.empty() || continues_sequences(config_))
      << "a layer of this model needs every sequence whole";
  std::optional<RopeTable> rope;
  if (config_.rope.type != RopeType::None) {
    rope = rope_table(config_.rope, config_.head_dim, config_.max_positions, batch.positions,
                      batch.cu_seqlens, blocks_->rope_frequencies);
  }
  // What a layer that is run again must still find; `this` stays where it is until then.
  struct Inputs {
    PackedBatch batch;
    std::optional<RopeTable> rope;
  };
  const bool again = recompute_ && cache == nullptr && at::GradMode::is_enabled();
  const auto inputs = again ? std::make_shared<const Inputs>(Inputs{batch, rope}) : nullptr;
  const ForwardContext context{*linear_, *attention_, batch, rope ? &*rope : nullptr, cache};
  const auto& layers = blocks_->layers;
  AddedNorm state;
  state.sum = embed(batch);
  state.normed = normalise(layers.front().input_norm, state.sum);
  for (size_t i = 0; i < layers.size(); ++i) {
    const Norm& next = i + 1 < layers.size() ? layers[i + 1].input_norm : blocks_->norm;
    if (!again) {
      state = layers[i].forward(state, next, context);
      continue;
    }
    const auto part = [this, inputs, &layer = layers[i], &next](const AddedNorm& in) {
      const ForwardContext own{*linear_, *attention_, inputs->batch,
                               inputs->rope ? &*inputs->rope : nullptr, nullptr};
      return layer.forward(in, next, own);
    };
    state = recomputed(part, state);
  }
  return state.normed;
}

const Linear& Transformer::head() const noexcept { return blocks_->head; }

at::Tensor Transformer::logits(const at::Tensor& hidden) const {
  SLUICE_CHECK(config_.head == HeadKind::Language) << "the model has no language head";
  const at::Tensor scores = linear_->apply(blocks_->head, hidden);
  if (config_.logit_softcap == 0) return scores;
  return at::tanh(scores / config_.logit_softcap) * config_.logit_softcap;
}

at::Tensor Transformer::values(const at::Tensor& hidden) const {
  SLUICE_CHECK(config_.head == HeadKind::Value) << "the model has no value head";
  return linear_->apply(blocks_->head, hidden).squeeze(-1);
}

at::Tensor Transformer::classify(const at::Tensor& hidden, const PackedBatch& batch) const {
  SLUICE_CHECK(config_.head == HeadKind::Classifier) << "the model has no classifier head";
  std::vector<int64_t> last;
  for (int64_t i = 0; i < batch.sequences(); ++i) {
    SLUICE_CHECK(batch.length(i) > 0) << "sequence " << i << " is empty";
    last.push_back(batch.cu_seqlens[static_cast<size_t>(i) + 1] - 1);
  }
  const at::Tensor rows = at::tensor(last, at::kLong).to(hidden.device());
  return linear_->apply(blocks_->head, hidden.index_select(0, rows));
}

}  // namespace sluice
