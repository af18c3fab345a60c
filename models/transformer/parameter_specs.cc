#include "models/transformer/parameters.h"

namespace sluice {
namespace {

class Builder {
 public:
  explicit Builder(const TransformerConfig& config) : c_(config) {}

  std::vector<ParameterSpec> build() {
    add("model.embed_tokens.weight", {c_.vocab_size, c_.hidden_size});
    if (c_.learned_positions) {
      add("model.embed_positions.weight", {c_.max_positions, c_.hidden_size});
    }
    for (size_t i = 0; i < c_.layers.size(); ++i) layer(static_cast<int64_t>(i));
    norm("model.norm", c_.hidden_size);
    if (c_.head == HeadKind::Language && !c_.tied_head) {
      add("lm_head.weight", {c_.vocab_size, c_.hidden_size});
    }
    if (c_.head == HeadKind::Value) add("score.weight", {1, c_.hidden_size});
    if (c_.head == HeadKind::Classifier) add("score.weight", {c_.num_labels, c_.hidden_size});
    return std::move(specs_);
  }

 private:
  void add(std::string name, std::vector<int64_t> shape, ParameterInit init = ParameterInit::Normal,
           std::string group = "") {
    specs_.push_back({std::move(name), std::move(shape), init, std::move(group)});
  }

  void norm(const std::string& name, int64_t size) {
    add(name + ".weight", {size}, c_.norm_unit_offset ? ParameterInit::Zero : ParameterInit::One);
    if (c_.norm == NormKind::Layer) add(name + ".bias", {size}, ParameterInit::Zero);
  }

  void linear(const std::string& name, int64_t out, int64_t in, bool bias) {
    add(name + ".weight", {out, in});
    if (bias) add(name + ".bias", {out}, ParameterInit::Zero);
  }

  struct Output {
    std::string name;
    int64_t out;
  };
  /// Linear layers of one input: all weights first, then all biases, each end to end.
  void group(const std::string& name, const std::vector<Output>& layers, int64_t in, bool bias) {
    for (const Output& l : layers) {
      add(l.name + ".weight", {l.out, in}, ParameterInit::Normal, name + ".weight");
    }
    for (const Output& l : layers) {
      if (bias) add(l.name + ".bias", {l.out}, ParameterInit::Zero, name + ".bias");
    }
  }

  void attention(const std::string& at) {
    const int64_t query = c_.heads * c_.head_dim * (c_.attention_gate ? 2 : 1);
    const int64_t kv = c_.kv_heads * c_.head_dim;
    group(at + ".qkv", {{at + ".q_proj", query}, {at + ".k_proj", kv}, {at + ".v_proj", kv}},
          c_.hidden_size, c_.qkv_bias);
    linear(at + ".o_proj", c_.hidden_size, c_.heads * c_.head_dim, c_.output_bias);
    if (!c_.qk_norm) return;
    const auto init = c_.norm_unit_offset ? ParameterInit::Zero : ParameterInit::One;
    add(at + ".q_norm.weight", {c_.head_dim}, init);
    add(at + ".k_norm.weight", {c_.head_dim}, init);
  }

  void gated_delta(const std::string& at) {
    const GatedDeltaConfig& g = c_.gated_delta;
    const int64_t keys = g.key_heads * g.key_dim;
    const int64_t values = g.value_heads * g.value_dim;
    add(at + ".dt_bias", {g.value_heads}, ParameterInit::One);
    add(at + ".A_log", {g.value_heads}, ParameterInit::DecayLog);
    add(at + ".conv1d.weight", {2 * keys + values, 1, g.conv_kernel});
    linear(at + ".in_proj_qkvz", 2 * keys + 2 * values, c_.hidden_size, false);
    linear(at + ".in_proj_ba", 2 * g.value_heads, c_.hidden_size, false);
    add(at + ".norm.weight", {g.value_dim}, ParameterInit::One);
    linear(at + ".out_proj", c_.hidden_size, values, false);
  }

  void mlp(const std::string& at, int64_t inner) {
    if (c_.gated_mlp) {
      group(at + ".gate_up", {{at + ".gate_proj", inner}, {at + ".up_proj", inner}}, c_.hidden_size,
            c_.mlp_bias);
    } else {
      linear(at + ".up_proj", inner, c_.hidden_size, c_.mlp_bias);
    }
    linear(at + ".down_proj", c_.hidden_size, inner, c_.mlp_bias);
  }

  void experts(const std::string& at) {
    linear(at + ".gate", c_.experts.count, c_.hidden_size, false);
    for (int64_t e = 0; e < c_.experts.count; ++e) {
      mlp(fmt::format("{}.experts.{}", at, e), c_.experts.intermediate_size);
    }
    if (c_.experts.shared_intermediate_size == 0) return;
    mlp(at + ".shared_expert", c_.experts.shared_intermediate_size);
    linear(at + ".shared_expert_gate", 1, c_.hidden_size, false);
  }

  void layer(int64_t index) {
    const std::string at = fmt::format("model.layers.{}", index);
    const LayerConfig& l = c_.layers[static_cast<size_t>(index)];
    norm(at + ".input_layernorm", c_.hidden_size);
    if (l.mixer == MixerKind::Attention) {
      attention(at + ".self_attn");
    } else {
      gated_delta(at + ".linear_attn");
    }
    norm(at + ".post_attention_layernorm", c_.hidden_size);
    if (c_.post_norms) norm(at + ".pre_feedforward_layernorm", c_.hidden_size);
    if (l.experts) {
      experts(at + ".mlp");
    } else {
      mlp(at + ".mlp", c_.intermediate_size);
    }
    if (c_.post_norms) norm(at + ".post_feedforward_layernorm", c_.hidden_size);
  }

  const TransformerConfig& c_;
  std::vector<ParameterSpec> specs_;
};

}  // namespace

std::vector<ParameterSpec> parameter_specs(const TransformerConfig& config) {
  return Builder(config).build();
}

}  // namespace sluice
