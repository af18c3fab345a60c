#include "algorithms/ops/token_returns.h"

#include "dataflow/base/result.h"

#include <ATen/ATen.h>

#include <cmath>

namespace sluice {
namespace {

// The columns of a flat batch on the CPU.
struct Columns {
  at::Tensor mask, sequence;
  const bool* counts;
  const int64_t* rollout;
  int64_t tokens;

  Columns(const at::Tensor& mask_in, const at::Tensor& sequence_in)
      : mask(mask_in.defined() ? mask_in.to(at::kCPU, at::kBool).contiguous()
                               : at::ones({sequence_in.size(0)}, at::kBool)),
        sequence(sequence_in.to(at::kCPU, at::kLong).contiguous()),
        counts(mask.data_ptr<bool>()),
        rollout(sequence.data_ptr<int64_t>()),
        tokens(sequence.size(0)) {
    SLUICE_CHECK(mask.size(0) == tokens) << "mask and sequence differ in length";
  }
};

at::Tensor doubles(const at::Tensor& values, int64_t tokens) {
  SLUICE_CHECK(values.dim() == 1 && values.size(0) == tokens) << "expected one value per token";
  return values.detach().to(at::kCPU, at::kDouble).contiguous();
}

}  // namespace

at::Tensor token_rewards(std::span<const double> terminal, const at::Tensor& kl, double beta,
                         const at::Tensor& mask, const at::Tensor& sequence) {
  const Columns c(mask, sequence);
  at::Tensor result = at::zeros({c.tokens}, at::kDouble);
  double* out = result.data_ptr<double>();
  const at::Tensor penalty = kl.defined() ? doubles(kl, c.tokens) : kl;
  const double* k = kl.defined() ? penalty.data_ptr<double>() : nullptr;
  int64_t placed = -1;  // the rollout whose reward has its place, walking backwards
  for (int64_t t = c.tokens - 1; t >= 0; --t) {
    if (!c.counts[t]) continue;
    const int64_t s = c.rollout[t];
    SLUICE_CHECK(s >= 0 && static_cast<size_t>(s) < terminal.size())
        << "token " << t << " is of rollout " << s << " of " << terminal.size();
    if (k != nullptr) out[t] -= beta * k[t];
    if (s != placed) out[t] += terminal[static_cast<size_t>(s)];
    placed = s;
  }
  return result;
}

at::Tensor discounted_returns(const at::Tensor& reward, const at::Tensor& mask,
                              const at::Tensor& sequence, double gamma) {
  const Columns c(mask, sequence);
  const at::Tensor rewards = doubles(reward, c.tokens);
  const double* r = rewards.data_ptr<double>();
  at::Tensor result = at::zeros({c.tokens}, at::kDouble);
  double* out = result.data_ptr<double>();
  double next = 0;
  double carried = 0;  // rewards on tokens that do not count
  for (int64_t t = c.tokens - 1; t >= 0; --t) {
    if (t + 1 < c.tokens && c.rollout[t + 1] != c.rollout[t]) next = carried = 0;
    if (!c.counts[t]) {
      carried += r[t];
      continue;
    }
    next = out[t] = r[t] + carried + gamma * next;
    carried = 0;
  }
  return result;
}

Gae token_gae(const at::Tensor& reward, const at::Tensor& value, const at::Tensor& mask,
              const at::Tensor& sequence, double gamma, double lambda,
              std::span<const double> bootstrap) {
  const Columns c(mask, sequence);
  const at::Tensor rewards = doubles(reward, c.tokens);
  const at::Tensor values = doubles(value, c.tokens);
  const double* r = rewards.data_ptr<double>();
  const double* v = values.data_ptr<double>();
  Gae result{at::zeros({c.tokens}, at::kDouble), at::zeros({c.tokens}, at::kDouble)};
  double* advantage = result.advantage.data_ptr<double>();
  double* returns = result.returns.data_ptr<double>();
  double next_value = 0;
  double next_advantage = 0;
  double carried = 0;
  for (int64_t t = c.tokens - 1; t >= 0; --t) {
    if (t + 1 == c.tokens || c.rollout[t + 1] != c.rollout[t]) {
      const auto s = static_cast<size_t>(c.rollout[t]);
      SLUICE_CHECK(bootstrap.empty() || s < bootstrap.size()) << "no bootstrap of rollout " << s;
      next_value = bootstrap.empty() ? 0 : bootstrap[s];
      next_advantage = carried = 0;
    }
    if (!c.counts[t]) {
      carried += r[t];
      continue;
    }
    const double delta = r[t] + carried + gamma * next_value - v[t];
    next_advantage = advantage[t] = delta + gamma * lambda * next_advantage;
    returns[t] = advantage[t] + v[t];
    next_value = v[t];
    carried = 0;
  }
  return result;
}

at::Tensor whiten(const at::Tensor& values, const at::Tensor& mask) {
  const at::Tensor detached = values.detach();
  const at::Tensor rows =
      mask.defined() ? mask.nonzero().squeeze(1) : at::arange(values.size(0), at::kLong);
  at::Tensor result = at::zeros_like(detached);
  if (rows.size(0) == 0) return result;
  const at::Tensor x = detached.index_select(0, rows).to(at::kDouble);
  at::Tensor centred = x - x.mean();
  if (x.size(0) > 1) {
    const double var = centred.square().sum().item<double>() / static_cast<double>(x.size(0) - 1);
    centred = centred / std::sqrt(var + 1e-8);
  }
  return result.index_copy(0, rows, centred.to(detached.scalar_type()));
}

}  // namespace sluice
