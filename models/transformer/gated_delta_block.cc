#include "models/transformer/blocks.h"
#include "models/transformer/gated_delta.h"
#include "models/transformer/kv_cache.h"

#include <ATen/ATen.h>

#include <cmath>

namespace sluice {
namespace {

// From this many tokens on, chunks are faster than token by token.
constexpr int64_t kChunkedFrom = 8;
constexpr double kUnitEps = 1e-6;

at::Tensor unit(const at::Tensor& x) { return x * at::rsqrt(x.square().sum(-1, true) + kUnitEps); }

}  // namespace

GatedDeltaBlock::GatedDeltaBlock(const TransformerConfig& config, const Parameters& parameters,
                                 int64_t layer)
    : config_(config.gated_delta), layer_(layer) {
  const std::string at = fmt::format("model.layers.{}.linear_attn", layer);
  in_qkvz_ = linear_at(parameters, at + ".in_proj_qkvz");
  in_ba_ = linear_at(parameters, at + ".in_proj_ba");
  out_ = linear_at(parameters, at + ".out_proj");
  conv_ = parameters.at(at + ".conv1d.weight");
  dt_bias_ = parameters.at(at + ".dt_bias");
  decay_log_ = parameters.at(at + ".A_log");
  norm_ = norm_at(parameters, config, at + ".norm");
  norm_.unit_offset = false;
}

at::Tensor GatedDeltaBlock::sequence(const at::Tensor& qkv, const at::Tensor& decay,
                                     const at::Tensor& beta, int64_t index, KvCache* cache) const {
  const int64_t keys = config_.key_heads * config_.key_dim;
  const int64_t values = config_.value_heads * config_.value_dim;
  const int64_t share = config_.value_heads / config_.key_heads;
  LinearAttentionState* held = cache == nullptr ? nullptr : &cache->state(layer_, index);
  // Causal convolution, channel by channel, over the inputs and the few before them.
  const int64_t before = config_.conv_kernel - 1;
  const at::Tensor earlier =
      held != nullptr && held->conv.defined()
          ? held->conv
          : at::zeros({qkv.size(1), before}, qkv.options().requires_grad(false));
  const at::Tensor inputs = at::cat({earlier, qkv.t()}, 1);
  const std::vector<int64_t> one = {1};
  const std::vector<int64_t> none = {0};
  const at::Tensor mixed =
      at::silu(at::conv1d(inputs.unsqueeze(0), conv_, {}, one, none, one, qkv.size(1)).squeeze(0));
  const auto parts = mixed.split_with_sizes({keys, keys, values}, 0);
  const auto heads = [&](const at::Tensor& x, int64_t n, int64_t dim) {
    return x.view({n, dim, -1}).transpose(1, 2).to(at::kFloat);
  };
  DeltaInputs in;
  in.q = unit(heads(parts[0], config_.key_heads, config_.key_dim)) /
         std::sqrt(static_cast<double>(config_.key_dim));
  in.k = unit(heads(parts[1], config_.key_heads, config_.key_dim));
  in.v = heads(parts[2], config_.value_heads, config_.value_dim);
  if (share > 1) {
    in.q = in.q.repeat_interleave(share, 0);
    in.k = in.k.repeat_interleave(share, 0);
  }
  in.decay = decay.t();
  in.beta = beta.t().to(at::kFloat);
  const at::Tensor state = held == nullptr ? at::Tensor() : held->recurrent;
  const DeltaResult result = qkv.size(0) < kChunkedFrom ? gated_delta_recurrent(in, state)
                                                        : gated_delta_chunked(in, state);
  if (held != nullptr) {
    held->recurrent = result.state.detach();
    held->conv = inputs.narrow(1, inputs.size(1) - before, before).detach().clone();
  }
  return result.out.transpose(0, 1).to(qkv.scalar_type());  // [tokens, value_heads, value_dim]
}

at::Tensor GatedDeltaBlock::forward(const at::Tensor& x, const ForwardContext& context) const {
  const int64_t tokens = x.size(0);
  const int64_t share = config_.value_heads / config_.key_heads;
  // Both projections are laid out key head by key head.
  const auto qkvz = context.linear.apply(in_qkvz_, x)
                        .view({tokens, config_.key_heads, -1})
                        .split_with_sizes({config_.key_dim, config_.key_dim,
                                           share * config_.value_dim, share * config_.value_dim},
                                          -1);
  const auto ba =
      context.linear.apply(in_ba_, x).view({tokens, config_.key_heads, 2 * share}).chunk(2, -1);
  const at::Tensor qkv = at::cat({qkvz[0].flatten(1), qkvz[1].flatten(1), qkvz[2].flatten(1)}, 1);
  const at::Tensor beta = at::sigmoid(ba[0].flatten(1));
  const at::Tensor decay =
      -decay_log_.to(at::kFloat).exp() * at::softplus(ba[1].flatten(1).to(at::kFloat) + dt_bias_);
  std::vector<at::Tensor> outputs;
  for (int64_t i = 0; i < context.batch.sequences(); ++i) {
    const int64_t begin = context.batch.cu_seqlens[static_cast<size_t>(i)];
    const int64_t n = context.batch.length(i);
    if (n == 0) continue;
    outputs.push_back(sequence(qkv.narrow(0, begin, n), decay.narrow(0, begin, n),
                               beta.narrow(0, begin, n), i, context.cache));
  }
  const at::Tensor z = qkvz[3].reshape({tokens, config_.value_heads, config_.value_dim});
  const at::Tensor gated =
      (normalise(norm_, at::cat(outputs)) * at::silu(z.to(at::kFloat))).to(x.scalar_type());
  return context.linear.apply(out_, gated.flatten(1));
}

}  // namespace sluice
