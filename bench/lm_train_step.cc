// One training step of a SmolLM2-135M in fp32 on 2 threads (random weights: the numbers do not
// change the work), as GRPO's on 4 prompts of 37 tokens with 8 answers of 16: forward with the
// answers' prompts shared, log-probs, loss, backward, AdamW. Where the seconds go, and what share
// of the measured fp32 product the step reaches when only the products that cannot be left out
// count: 6 operations per weight and row that goes through the layers, and per weight of the head
// and scored token. The peer of the last row is the same step with a prompt for every answer.
#include "bench/hardware.h"
#include "bench/programs.h"
#include "bench/smollm2.h"
#include "dataflow/base/clock.h"
#include "models/transformer/architecture.h"
#include "trainer/lm/lm_learner.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <malloc.h>
#include <nlohmann/json.hpp>

namespace sluice::bench {
namespace {

constexpr int kStepThreads = 2;
constexpr int kStepRepeats = 5;
constexpr int64_t kPrompts = 4, kPromptTokens = 37, kAnswers = 8, kAnswerTokens = 16;

std::vector<TrainSequence> step_groups(const TransformerConfig& config, uint64_t seed) {
  const RandomKey key(seed);
  uint64_t drawn = 0;
  const auto tokens = [&](int64_t n) {
    std::vector<int64_t> ids;
    for (int64_t i = 0; i < n; ++i) {
      ids.push_back(
          static_cast<int64_t>(key.word(drawn++) % static_cast<uint64_t>(config.vocab_size)));
    }
    return ids;
  };
  std::vector<TrainSequence> groups;
  for (int64_t p = 0; p < kPrompts; ++p) {
    TrainSequence& group = groups.emplace_back();
    group.prompt = tokens(kPromptTokens);
    for (int64_t i = 0; i < kAnswers; ++i) group.responses.push_back(tokens(kAnswerTokens));
  }
  return groups;
}

/// Floating-point operations that a step cannot do without.
double step_operations(const LmLearner& learner, const LmStepStats& stats) {
  const TransformerConfig& config = learner.model().config();
  double layers = 0;
  for (const auto& entry : learner.parameters()) {
    const bool multiplies = entry.tensor.dim() > 1 && entry.name != "model.embed_tokens.weight";
    if (multiplies) layers += static_cast<double>(entry.tensor.numel());
  }
  const auto head = static_cast<double>(config.vocab_size * config.hidden_size);
  return 6 * (layers * static_cast<double>(stats.rows) +
              head * static_cast<double>(stats.response_tokens));
}

struct StepSeconds {
  std::vector<double> whole, forward, backward, update;
};

Result<LmStepStats> timed_step(LmLearner& learner, std::span<const TrainSequence> groups,
                               StepSeconds* seconds) {
  const auto loss = [](const MicroOutputs& out, std::span<const size_t>) {
    return -out.logprob.sum() / static_cast<double>(kPrompts * kAnswers * kAnswerTokens);
  };
  const TimeNs then = RealClock::instance().now();
  ASSIGN_OR_RETURN(const LmStepStats stats, learner.step(groups, loss));
  if (seconds != nullptr) {
    seconds->whole.push_back(static_cast<double>(RealClock::instance().now() - then) * 1e-9);
    seconds->forward.push_back(stats.seconds.forward);
    seconds->backward.push_back(stats.seconds.backward);
    seconds->update.push_back(stats.seconds.update);
  }
  return stats;
}

}  // namespace

Result<Report> run_lm_train_step(const BenchOptions& options) {
  // Freed activations stay with the allocator: fresh pages cost as much as a small layer.
  mallopt(M_MMAP_THRESHOLD, 1 << 25);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  const int threads_before = at::get_num_threads();
  at::set_num_threads(kStepThreads);
  ASSIGN_OR_RETURN(const TransformerConfig config, read_hf_config(smollm2_config()));
  const std::vector<TrainSequence> groups = step_groups(config, options.seed);
  std::vector<std::unique_ptr<LmLearner>> learners;  // shared prompts, own prompts
  for (const bool share : {true, false}) {
    LmLearnerConfig settings;
    settings.share_prompts = share;
    Transformer model(config, Parameters::random(config, RandomKey(options.seed)));
    ASSIGN_OR_RETURN(learners.emplace_back(), LmLearner::create(std::move(model), settings));
  }
  StepSeconds seconds[2];
  LmStepStats stats[2];
  std::vector<double> peaks, shares;
  for (int i = 0; i <= kStepRepeats; ++i) {
    const double peak = gemm_peak();
    for (size_t form = 0; form < 2; ++form) {
      ASSIGN_OR_RETURN(stats[form],
                       timed_step(*learners[form], groups, i == 0 ? nullptr : &seconds[form]));
    }
    if (i == 0) continue;
    peaks.push_back(peak * 1e-9);
    shares.push_back(step_operations(*learners[0], stats[0]) / seconds[0].whole.back() / peak);
  }
  at::set_num_threads(threads_before);
  Report report;
  auto whole = BenchResult::of("step", seconds[0].whole, "s");
  whole.note = fmt::format("{} prompts x {} answers x {} tokens: {} rows", kPrompts, kAnswers,
                           kAnswerTokens, stats[0].rows);
  report.push_back(std::move(whole));
  report.push_back(BenchResult::of("forward", seconds[0].forward, "s"));
  report.push_back(BenchResult::of("backward", seconds[0].backward, "s"));
  report.push_back(BenchResult::of("update", seconds[0].update, "s"));
  auto share = BenchResult::of("share_of_product", shares, "");
  share.goal = Goal::at_least_value(0.6);
  share.note = fmt::format("of {:.0f} GFLOP/s", median(peaks));
  report.push_back(std::move(share));
  auto shared = BenchResult::of("step_shared_prompts", seconds[0].whole, "s");
  shared.peer = "own prompts";
  shared.peer_value = median(seconds[1].whole);
  shared.peer_repeats = seconds[1].whole;
  shared.note = fmt::format("{} rows beside {}", stats[0].rows, stats[1].rows);
  report.push_back(std::move(shared));
  return report;
}

}  // namespace sluice::bench
