#include "algorithms/llm/supervised_loss.h"

#include "dataflow/base/result.h"

#include <ATen/ATen.h>

#include <cmath>

namespace sluice {

at::Tensor supervised_loss(const at::Tensor& logprob, const at::Tensor& mask,
                           const at::Tensor& sequence, Aggregation aggregation,
                           const Denominator& denominator) {
  return -aggregate(logprob, mask, sequence, aggregation, denominator);
}

at::Tensor distillation_advantage(const at::Tensor& student_logprob,
                                  const at::Tensor& teacher_logprob, double coef, double limit) {
  return (coef * (teacher_logprob - student_logprob)).detach().clamp(-limit, limit);
}

at::Tensor distillation_divergence(const at::Tensor& student_logits,
                                   const at::Tensor& teacher_logits, double beta,
                                   double temperature) {
  SLUICE_CHECK(beta >= 0 && beta <= 1) << "beta " << beta << " is outside [0, 1]";
  SLUICE_CHECK(temperature > 0) << "temperature " << temperature << " is not positive";
  const at::Tensor s = (student_logits / temperature).log_softmax(-1);
  const at::Tensor t = (teacher_logits.detach() / temperature).log_softmax(-1);
  const auto kl = [](const at::Tensor& p, const at::Tensor& q) {
    return (p.exp() * (p - q)).sum(-1);
  };
  if (beta == 0) return kl(t, s);
  if (beta == 1) return kl(s, t);
  const at::Tensor m = at::logaddexp(s + std::log1p(-beta), t + std::log(beta));
  return beta * kl(t, m) + (1 - beta) * kl(s, m);
}

}  // namespace sluice
