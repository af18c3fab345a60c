// Log-probs of 4,096 tokens over the packaged model's vocabulary, by tiles against by full logits,
// alternated in one run. Memory is the peak of tensor bytes on the calling thread (the allocator's
// own reports), beyond inputs and resulting gradients.
#include "bench/programs.h"
#include "dataflow/base/clock.h"
#include "models/transformer/logprobs/tensor_peak.h"
#include "models/transformer/logprobs/token_logprobs.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/autograd.h>

namespace sluice::bench {
namespace {
constexpr int64_t kTokens = 4096;
constexpr int64_t kWidth = 576;
constexpr int64_t kVocabulary = 49152;
constexpr int kRepeats = 5;
constexpr double kMegabyte = 1e6;

using Form = Result<TokenLogprobs> (*)(const at::Tensor&, const LmHead&, const at::Tensor&,
                                       const LogprobOptions&);
constexpr Form kTiled = token_logprobs;
constexpr Form kPlain = token_logprobs_plain;

struct Problem {
  at::Tensor hidden, weight, targets, gradient;

  [[nodiscard]] Problem rows(int64_t count) const {
    return {hidden.detach().narrow(0, 0, count).clone().requires_grad_(), weight,
            targets.narrow(0, 0, count), gradient.narrow(0, 0, count)};
  }
};

void forget_gradients(const Problem& p) {
  p.hidden.mutable_grad().reset();
  p.weight.mutable_grad().reset();
}

Status once(const Problem& p, Form form, bool backward, bool entropy) {
  const at::AutoGradMode mode(backward);
  forget_gradients(p);
  ASSIGN_OR_RETURN(const TokenLogprobs out,
                   form(p.hidden, {p.weight}, p.targets, {.temperature = 0.7, .entropy = entropy}));
  if (!backward) return {};
  std::vector<at::Tensor> roots{out.logprob}, gradients{p.gradient};
  if (entropy) {
    roots.push_back(out.entropy);
    gradients.push_back(p.gradient);
  }
  torch::autograd::backward(roots, gradients);
  return {};
}

/// Megabytes beyond inputs and gradients.
Result<double> extra(const Problem& p, Form form, bool entropy) {
  forget_gradients(p);  // or their release would count as memory won
  const TensorPeak peak;
  RETURN_IF_ERROR(once(p, form, true, entropy));
  const int64_t gradients = 4 * (p.hidden.numel() + p.weight.numel());
  return static_cast<double>(peak.bytes() - gradients) / kMegabyte;
}

Result<BenchResult> timed(const std::string& metric, const Problem& p, bool backward,
                          bool entropy) {
  const RealClock& clock = RealClock::instance();
  std::vector<double> ours, plain;
  for (int i = 0; i <= kRepeats; ++i) {
    for (const bool tiled : {true, false}) {
      const TimeNs start = clock.now();
      RETURN_IF_ERROR(once(p, tiled ? kTiled : kPlain, backward, entropy));
      const double seconds = static_cast<double>(clock.now() - start) * 1e-9;
      if (i > 0) (tiled ? ours : plain).push_back(seconds);
    }
  }
  auto result = BenchResult::of(metric, ours, "s");
  result.peer = "full logits";
  result.peer_value = median(plain);
  result.peer_repeats = plain;
  result.goal = Goal::at_most_ratio(1);
  result.note = fmt::format("{} tokens", p.hidden.size(0));
  return result;
}
}  // namespace

Result<Report> run_logprobs(const BenchOptions& options) {
  const int before = at::get_num_threads();
  at::set_num_threads(2);
  at::manual_seed(options.seed);
  const Problem p{at::randn({kTokens, kWidth}).requires_grad_(),
                  (at::randn({kVocabulary, kWidth}) * 0.05).requires_grad_(),
                  at::randint(kVocabulary, {kTokens}, at::kLong), at::randn({kTokens})};
  const Problem quarter = p.rows(kTokens / 4);
  Report report;
  for (const bool entropy : {false, true}) {
    ASSIGN_OR_RETURN(const double ours, extra(p, kTiled, entropy));
    auto memory = BenchResult::once(entropy ? "extra_memory_entropy" : "extra_memory", ours, "MB");
    memory.peer = "one copy of full logits";
    memory.peer_value = 4. * kTokens * kVocabulary / kMegabyte;
    memory.goal = Goal::at_most_ratio(0.125);
    if (!entropy) {
      ASSIGN_OR_RETURN(const double plain, extra(p, kPlain, false));
      memory.note = fmt::format("the plain form takes {:.0f} MB", plain);
    }
    report.push_back(memory);
  }
  ASSIGN_OR_RETURN(report.emplace_back(), timed("forward", p, false, false));
  ASSIGN_OR_RETURN(report.emplace_back(), timed("forward_backward", p, true, false));
  ASSIGN_OR_RETURN(report.emplace_back(), timed("forward_entropy", quarter, false, true));
  ASSIGN_OR_RETURN(report.emplace_back(), timed("forward_backward_entropy", quarter, true, true));
  at::set_num_threads(before);
  return report;
}

}  // namespace sluice::bench
