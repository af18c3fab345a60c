#include "algorithms/llm/value_loss.h"

#include "algorithms/llm/policy_loss_config.h"
#include "dataflow/base/result.h"

#include <ATen/ATen.h>

namespace sluice {

void ValueLossConfig::bind(ConfigBinder& b) {
  b.field("clip", clip, "range of the value's change; 0 = off", Range::at_least(0));
  b.field("coef", coef, "weight of the value loss", Range::at_least(0));
  b.field("half", half, "halve the squared error");
  b.field("aggregation", aggregation, "what token losses are divided by", aggregation_names());
}

void ValueStats::add(const ValueStats& other) noexcept {
  tokens += other.tokens;
  value_loss += other.value_loss;
  clipped += other.clipped;
  error += other.error;
  returns += other.returns;
  returns_square += other.returns_square;
}

double ValueStats::explained_variance() const noexcept {
  if (tokens < 1) return 0;
  const double variance = returns_square / tokens - (returns / tokens) * (returns / tokens);
  return variance > 1e-12 ? 1 - error / tokens / variance : 0;
}

ValueLoss value_loss(const ValueLossConfig& config, const ValueBatch& batch,
                     const Denominator& denominator) {
  SLUICE_CHECK(batch.value.defined() && batch.returns.defined()) << "value and returns are needed";
  const TokenRows rows(batch.mask, batch.sequence);
  const at::Tensor value = rows.select(batch.value);
  const at::Tensor target = rows.select(batch.returns).detach().to(value.options());
  const at::Tensor error = (value - target).square();
  at::Tensor loss = error;
  at::Tensor clipped = at::zeros({}, at::kDouble);
  if (config.clip > 0) {
    SLUICE_CHECK(batch.old_value.defined()) << "clipping needs old values";
    const at::Tensor old = rows.select(batch.old_value).detach().to(value.options());
    const at::Tensor near = old + (value - old).clamp(-config.clip, config.clip);
    const at::Tensor other = (near - target).square();
    clipped = (other > error).sum().to(at::kDouble).cpu();
    loss = at::maximum(error, other);
  }
  ValueLoss result;
  result.total =
      config.coef * (config.half ? 0.5 : 1.0) * rows.reduce(loss, config.aggregation, denominator);
  const at::Tensor wide = target.to(at::kDouble);
  const at::Tensor sums =
      at::stack({result.total.detach().to(at::kDouble), error.detach().to(at::kDouble).sum(),
                 wide.sum(), wide.square().sum()})
          .cpu();
  const double* s = sums.data_ptr<double>();
  result.stats = {
      static_cast<double>(rows.tokens()), s[0], clipped.item<double>(), s[1], s[2], s[3]};
  return result;
}

}  // namespace sluice
