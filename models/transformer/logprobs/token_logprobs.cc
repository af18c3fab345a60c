// Log-probs and entropy of tokens without full logits. Shapes: N kept tokens, D width, V
// vocabulary; a tile is [rows, cols] of [N, V].
//   x = cap(h W^T + b) / T,  logprob = x_y - lse(x),  p = softmax(x),  H = lse(x) - sum_v p_v x_v
//   dx_v = g (1[v = y] - p_v) - q p_v (log p_v + H)     g = d/d logprob, q = d/d H
// The online softmax is that of arXiv 1805.02867, with sum_v e^(x_v - m) (x_v - m) carried along.
#include "models/transformer/logprobs/token_logprobs.h"

#include "models/transformer/logprobs/logits_tile.h"
#include "models/transformer/logprobs/tile_softmax.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cmath>
#include <optional>

namespace sluice {
namespace {
using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

/// What is no tensor of the graph.
struct Settings {
  double softcap = 0;
  LogprobOptions options;
  bool keeps = false;  ///< the logits, for the backward pass
  at::Tensor weight_gradient;
};

class ChunkedLogprobs : public torch::autograd::Function<ChunkedLogprobs> {
 public:
  static variable_list forward(AutogradContext* ctx, const Variable& hidden, const Variable& weight,
                               const std::optional<Variable>& maybe_bias, const Variable& targets,
                               const Settings& settings) {
    const Variable bias = maybe_bias.value_or(Variable());
    const LogprobOptions& options = settings.options;
    const LogitsTiles tiles({hidden, weight, bias, settings.softcap, options.temperature,
                             options.tile, !settings.keeps});
    variable_list kept;
    const int64_t rows = hidden.size(0);
    const at::TensorOptions as = hidden.options().dtype(tiles.dtype());
    const at::Tensor logprob = at::empty({rows}, as);
    const at::Tensor lse = at::empty({rows}, as);
    const at::Tensor entropy = options.entropy ? at::empty({rows}, as) : at::Tensor();
    tiles.for_each_rows([&](int64_t row, int64_t count) {
      OnlineSoftmax softmax(count, as, options.entropy);
      const at::Tensor y = targets.narrow(0, row, count);
      tiles.for_each_cols([&](int64_t col, int64_t cols) {
        const at::Tensor tile = tiles.logits(row, count, col, cols);
        if (settings.keeps) kept.push_back(tile);
        softmax.fold(settings.keeps && !softmax.preserves() ? tile.clone() : tile, y, col);
      });
      softmax.finish(logprob.narrow(0, row, count), lse.narrow(0, row, count),
                     options.entropy ? entropy.narrow(0, row, count) : entropy);
    });
    variable_list saved{hidden, weight, bias, targets, lse, entropy};
    saved.insert(saved.end(), kept.begin(), kept.end());
    ctx->save_for_backward(saved);
    if (settings.weight_gradient.defined()) {
      ctx->saved_data["weight_gradient"] = settings.weight_gradient;
    }
    ctx->saved_data["softcap"] = settings.softcap;
    ctx->saved_data["temperature"] = options.temperature;
    ctx->saved_data["tile"] = options.tile;
    ctx->set_materialize_grads(false);
    if (!options.entropy) return {logprob};
    return {logprob, entropy};
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    SLUICE_CHECK(!at::GradMode::is_enabled()) << "token_logprobs has first derivatives only";
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &hidden = saved[0], &weight = saved[1], &bias = saved[2], &targets = saved[3],
                     &lse = saved[4], &entropy = saved[5];
    const auto flat = [](const at::Tensor& x) { return x.defined() ? x.contiguous() : x; };
    const RowGradients all{lse, flat(gradients[0]),
                           gradients.size() > 1 ? flat(gradients[1]) : at::Tensor(), entropy};
    if (!all.g.defined() && !all.q.defined()) return variable_list(5);
    const bool kept = saved.size() > kSaved;
    const LogitsTiles tiles({hidden, weight, bias, ctx->saved_data["softcap"].toDouble(),
                             ctx->saved_data["temperature"].toDouble(),
                             ctx->saved_data["tile"].toInt(), !kept});
    const auto sink = ctx->saved_data.find("weight_gradient");
    LogitsGradient out(tiles, ctx->needs_input_grad(0), ctx->needs_input_grad(1),
                       bias.defined() && ctx->needs_input_grad(2),
                       sink == ctx->saved_data.end() ? at::Tensor() : sink->second.toTensor());
    size_t next = kSaved;
    tiles.for_each_rows([&](int64_t row, int64_t count) {
      tiles.for_each_cols([&](int64_t col, int64_t cols) {
        const at::Tensor tile = kept ? saved[next++] : tiles.logits(row, count, col, cols);
        const at::Tensor slope = tiles.softcap_slope(tile);
        to_gradient(tile, targets.narrow(0, row, count), col, all.narrow(row, count));
        if (slope.defined()) tile.mul_(slope);
        out.add(tile, row, count, col, cols);
      });
    });
    return {out.hidden(), out.weight(), out.bias(), {}, {}};
  }

 private:
  static constexpr size_t kSaved = 6;  // tensors before the kept logits
};

Status check(const at::Tensor& hidden, const LmHead& head, const at::Tensor& targets,
             const LogprobOptions& options) {
  const at::Tensor& weight = head.weight;
  if (hidden.dim() != 2 || weight.dim() != 2 || hidden.size(1) != weight.size(1)) {
    return invalid_argument("hidden states {} do not fit a head of shape {}", shape_text(hidden),
                            shape_text(weight));
  }
  if (!hidden.is_floating_point() || !weight.is_floating_point()) {
    return invalid_argument("hidden states and head must be floating point");
  }
  if (head.bias.defined() && (head.bias.dim() != 1 || head.bias.size(0) != weight.size(0))) {
    return invalid_argument("a head bias of shape {} does not fit a head of shape {}",
                            shape_text(head.bias), shape_text(weight));
  }
  if (targets.scalar_type() != at::kLong || targets.dim() != 1 ||
      targets.size(0) != hidden.size(0)) {
    return invalid_argument("targets must be int64 [{}], not {} {}", hidden.size(0),
                            at::toString(targets.scalar_type()), shape_text(targets));
  }
  if (!(options.temperature > 0) || !std::isfinite(options.temperature)) {
    return invalid_argument("temperature must be above 0 and finite, not {}", options.temperature);
  }
  if (!(head.softcap >= 0) || !std::isfinite(head.softcap)) {
    return invalid_argument("the softcap must be 0 or more and finite, not {}", head.softcap);
  }
  if (head.weight_gradient.defined() &&
      (head.weight_gradient.sizes() != weight.sizes() ||
       head.weight_gradient.scalar_type() != compute_type(hidden, weight))) {
    return invalid_argument(
        "the head's gradient is added in a tensor of its own shape and of the "
        "type that log-probs are computed in, not {} {}",
        at::toString(head.weight_gradient.scalar_type()), shape_text(head.weight_gradient));
  }
  if (options.tile < 1) return invalid_argument("a tile of {} logits", options.tile);
  if (head.vocabulary < 0 || head.vocabulary > weight.size(0) || weight.size(0) == 0) {
    return invalid_argument("a vocabulary of {} in a head of shape {}", head.vocabulary,
                            shape_text(weight));
  }
  return {};
}

/// The rows of targets that count; undefined when all do.
Result<at::Tensor> kept_rows(const at::Tensor& targets, int64_t vocabulary) {
  const at::Tensor ignored = targets.eq(kIgnoreTarget);
  const at::Tensor wrong =
      targets.lt(0).logical_or_(targets.ge(vocabulary)).logical_and_(ignored.logical_not());
  if (wrong.any().item<bool>()) {
    const int64_t row = wrong.nonzero()[0].item<int64_t>();
    return error(Code::OutOfRange, "target {} of row {} is not in a vocabulary of {}",
                 targets[row].item<int64_t>(), row, vocabulary);
  }
  if (!ignored.any().item<bool>()) return at::Tensor();
  return ignored.logical_not().nonzero().squeeze(1);
}

/// Checks, leaves out the rows that do not count, and puts zeros in their place afterwards.
template <class F>
Result<TokenLogprobs> over_kept(const at::Tensor& hidden, const LmHead& head,
                                const at::Tensor& targets, const LogprobOptions& options,
                                const F& f) {
  RETURN_IF_ERROR(check(hidden, head, targets, options));
  LmHead used = head;
  if (head.vocabulary > 0 && head.vocabulary < head.weight.size(0)) {
    used.weight = head.weight.narrow(0, 0, head.vocabulary);
    if (used.weight_gradient.defined()) {
      used.weight_gradient = head.weight_gradient.narrow(0, 0, head.vocabulary);
    }
    if (head.bias.defined()) used.bias = head.bias.narrow(0, 0, head.vocabulary);
  }
  ASSIGN_OR_RETURN(const at::Tensor rows, kept_rows(targets, used.weight.size(0)));
  if (!rows.defined()) return f(hidden, used, targets);
  const TokenLogprobs some = f(hidden.index_select(0, rows), used, targets.index_select(0, rows));
  const auto spread = [&](const at::Tensor& x) {
    return x.defined() ? at::zeros({hidden.size(0)}, x.options()).index_copy(0, rows, x) : x;
  };
  return TokenLogprobs{spread(some.logprob), spread(some.entropy)};
}
}  // namespace

Result<TokenLogprobs> token_logprobs(const at::Tensor& hidden, const LmHead& head,
                                     const at::Tensor& targets, const LogprobOptions& options) {
  return over_kept(
      hidden, head, targets, options,
      [&](const at::Tensor& h, const LmHead& used, const at::Tensor& y) {
        // Autograd takes an absent tensor as an argument, but not an undefined one.
        const auto bias = used.bias.defined() ? std::optional(used.bias) : std::nullopt;
        const bool trains =
            at::GradMode::is_enabled() && (h.requires_grad() || used.weight.requires_grad() ||
                                           (used.bias.defined() && used.bias.requires_grad()));
        const Settings settings{used.softcap, options,
                                trains && h.size(0) * used.weight.size(0) <= options.keep,
                                used.weight_gradient};
        const variable_list out = ChunkedLogprobs::apply(h, used.weight, bias, y, settings);
        return TokenLogprobs{out[0], options.entropy ? out[1] : at::Tensor()};
      });
}

Result<TokenLogprobs> token_logprobs_plain(const at::Tensor& hidden, const LmHead& head,
                                           const at::Tensor& targets,
                                           const LogprobOptions& options) {
  return over_kept(hidden, head, targets, options,
                   [&](const at::Tensor& h, const LmHead& used, const at::Tensor& y) {
                     const at::ScalarType as = compute_type(h, used.weight);
                     at::Tensor logits =
                         at::linear(h.to(as), used.weight.to(as),
                                    used.bias.defined() ? used.bias.to(as) : at::Tensor());
                     if (used.softcap > 0) logits = (logits / used.softcap).tanh() * used.softcap;
                     const at::Tensor all = (logits / options.temperature).log_softmax(1);
                     TokenLogprobs out{all.gather(1, y.unsqueeze(1)).squeeze(1), {}};
                     if (options.entropy)
                       out.entropy = -(all.exp() * all.clamp_min(-kLargest)).sum(1);
                     return out;
                   });
}

}  // namespace sluice
