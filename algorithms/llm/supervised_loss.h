#pragma once
#include "algorithms/ops/aggregate.h"

namespace sluice {

/// Supervised fine-tuning: the cross-entropy -lp of the tokens that count, divided once.
/// `logprob` [T] with gradient, `mask` bool [T] or undefined, `sequence` int64 [T].
[[nodiscard]] at::Tensor supervised_loss(const at::Tensor& logprob, const at::Tensor& mask,
                                         const at::Tensor& sequence, Aggregation aggregation,
                                         const Denominator& denominator);

/// On-policy distillation from sampled tokens (Lu et al., 2025; Agarwal et al., 2024, arXiv
/// 2306.13649): the reverse KL's estimate k1 = lo - l_teacher of the student's own samples is a
/// cost, so the advantage of a token is coef (l_teacher - lo), within +-limit. No gradient; it is
/// trained on with policy_loss(Unclipped), whose expected gradient is that of the reverse KL.
[[nodiscard]] at::Tensor distillation_advantage(const at::Tensor& student_logprob,
                                                const at::Tensor& teacher_logprob, double coef = 1,
                                                double limit = 10);

/// Generalised Jensen-Shannon divergence between whole next-token distributions (arXiv 2306.13649
/// eq. 1): logits [N, V] of rows that count, the student's with gradient; returns [N].
///   beta 0: KL(teacher || student), 1: KL(student || teacher), between: with m = (1 - beta) s +
///   beta t, beta KL(t || m) + (1 - beta) KL(s || m).
[[nodiscard]] at::Tensor distillation_divergence(const at::Tensor& student_logits,
                                                 const at::Tensor& teacher_logits, double beta,
                                                 double temperature = 1);

}  // namespace sluice
