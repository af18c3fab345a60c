#include "algorithms/llm/correction.h"

#include "dataflow/base/result.h"

#include <ATen/ATen.h>

namespace sluice {
namespace {

void also(at::Tensor& keep, const at::Tensor& condition) {
  keep = keep.defined() ? keep.logical_and(condition) : condition;
}

}  // namespace

Correction correct(const CorrectionConfig& config, const TokenRows& rows, const at::Tensor& current,
                   const at::Tensor& old, const at::Tensor& behaviour,
                   const at::Tensor& advantage) {
  Correction result;
  const bool geometric = config.geometric_high > 0;
  if (config.rule != CorrectionRule::None || geometric) {
    SLUICE_CHECK(behaviour.defined()) << "a correction needs the engine's log-probs";
    const at::Tensor gap = (old - behaviour).detach();
    const bool whole =
        config.rule == CorrectionRule::SequenceTis || config.rule == CorrectionRule::Mis;
    const at::Tensor logs = whole ? rows.spread(rows.sum(gap)) : gap;
    const at::Tensor weight = logs.clamp(-20, 20).exp();
    const at::Tensor inside = (weight >= config.lower()).logical_and(weight <= config.upper());
    switch (config.rule) {
      case CorrectionRule::None:
        break;
      case CorrectionRule::Tis:
      case CorrectionRule::SequenceTis:
        result.weight = weight.clamp(config.lower(), config.upper());
        result.clamped = inside.logical_not();
        break;
      case CorrectionRule::IcePop:
      case CorrectionRule::Mis:
      case CorrectionRule::Decoupled:
        // What is left out may hold NaN, which a product would bring back into the gradient.
        result.weight = at::where(inside, weight, at::zeros_like(weight));
        also(result.keep, inside);
        break;
    }
    if (geometric) {
      const at::Tensor mean = rows.spread(rows.mean(gap)).clamp(-20, 20).exp();
      also(result.keep, (mean >= config.geometric_low).logical_and(mean <= config.geometric_high));
    }
  }
  if (config.opsm_delta > 0) {
    const at::Tensor drift = rows.spread(rows.mean((old - current).detach()));
    also(result.keep, (advantage < 0).logical_and(drift > config.opsm_delta).logical_not());
  }
  return result;
}

}  // namespace sluice
