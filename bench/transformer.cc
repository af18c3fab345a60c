// Tokens per second of a SmolLM2-135M in fp32 (random weights: the numbers do not change the work),
// 2,048 tokens in sequences of mixed lengths laid end to end, 2 threads. `forward` computes the
// logits of every token, `backward` the mean loss of the next token and the gradients of all
// parameters. The peer, `transformers` with SDPA, takes the same sequences both as one packed row
// and as a padded batch, and gives its best. A single sequence of 2,048 tokens, where packing wins
// nothing, stands beside it.
#include "bench/peer.h"
#include "bench/processor_time.h"
#include "bench/programs.h"
#include "bench/smollm2.h"
#include "dataflow/base/clock.h"
#include "models/transformer/architecture.h"
#include "models/transformer/model.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <malloc.h>
#include <nlohmann/json.hpp>
#include <torch/csrc/autograd/autograd.h>

#include <numeric>

namespace sluice::bench {
namespace {

constexpr int kThreads = 2;
constexpr int kRepeats = 5;
const std::vector<int64_t> kMixed = {512, 384, 320, 256, 224, 160, 128, 64};
const std::vector<int64_t> kSingle = {2048};

PackedBatch batch_of(const std::vector<int64_t>& lengths, uint64_t seed) {
  const RandomKey key(seed);
  std::vector<std::vector<int64_t>> rows;
  uint64_t drawn = 0;
  for (const int64_t n : lengths) {
    auto& row = rows.emplace_back();
    for (int64_t i = 0; i < n; ++i) {
      row.push_back(static_cast<int64_t>(key.word(drawn++) % 49152));
    }
  }
  return pack(rows);
}

void forward_once(const Transformer& model, const PackedBatch& batch) {
  const at::NoGradGuard no_grad;
  static_cast<void>(model.logits(model.forward(batch)));
}

void backward_once(const Transformer& model, const PackedBatch& batch) {
  const at::Tensor scores = model.logits(model.forward(batch));
  // The token after a sequence's last is nobody's: ignored, so that no row has to be copied out.
  at::Tensor targets = at::empty_like(batch.tokens);
  targets.narrow(0, 0, batch.total_tokens() - 1)
      .copy_(batch.tokens.narrow(0, 1, batch.total_tokens() - 1));
  for (int64_t i = 0; i < batch.sequences(); ++i) {
    targets[batch.cu_seqlens[static_cast<size_t>(i) + 1] - 1] = -100;
  }
  at::cross_entropy_loss(scores, targets).backward();
  for (const auto& entry : model.parameters().entries()) entry.tensor.mutable_grad().reset();
}

struct Rates {
  std::vector<double> wall;
  std::vector<double> processor;
};

template <class Once>
void measure(const Once& once, int64_t tokens, int repeats, Rates& rates) {
  for (int i = 0; i < repeats; ++i) {
    const TimeNs then = RealClock::instance().now();
    const double used = processor_seconds();
    once();
    const auto n = static_cast<double>(tokens);
    rates.wall.push_back(n * 1e9 / static_cast<double>(RealClock::instance().now() - then));
    rates.processor.push_back(n / (processor_seconds() - used));
  }
}

Status measure_lengths(const BenchOptions& options, const Transformer& model, bool backward,
                       const std::vector<int64_t>& lengths, bool goal, Report& report) {
  const PackedBatch batch = batch_of(lengths, options.seed);
  const auto once = [&] {
    if (backward) {
      backward_once(model, batch);
    } else {
      forward_once(model, batch);
    }
  };
  once();
  Rates rates;
  measure(once, batch.total_tokens(), 3, rates);
  std::optional<PeerResult> peer;
  if (!options.peer_python.empty()) {
    const std::vector<std::string> arguments = {
        "--threads", std::to_string(kThreads),
        "--lengths", fmt::format("{}", fmt::join(lengths, ",")),
        "--mode",    backward ? "backward" : "forward",
        "--seed",    std::to_string(options.seed)};
    ASSIGN_OR_RETURN(peer, run_peer(options, "transformers_speed.py", arguments));
  }
  measure(once, batch.total_tokens(), kRepeats - 3 + 1, rates);
  const std::string suffix = lengths.size() == 1 ? "/one_sequence" : "";
  auto row = BenchResult::of((backward ? "backward" : "forward") + suffix, rates.wall, "tokens/s");
  if (goal) row.goal = Goal::at_least_ratio(1.15);
  row.note = fmt::format("{} sequences, {} tokens", lengths.size(), batch.total_tokens());
  if (peer) {
    row.peer = peer->peer + " " + peer->version;
    row.peer_value = peer->value;
    row.peer_repeats = peer->repeats;
    row.note += "; peer: " + peer->settings;
  }
  report.push_back(std::move(row));
  // What a busy machine does not hide.
  report.push_back(BenchResult::of(
      fmt::format("{}_per_processor_second{}", backward ? "backward" : "forward", suffix),
      rates.processor, "tokens/cpu-s"));
  return {};
}

Result<Report> run(const BenchOptions& options, bool backward) {
  // Freed activations stay with the allocator: fresh pages cost as much as a small layer.
  mallopt(M_MMAP_THRESHOLD, 1 << 25);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  const int threads_before = at::get_num_threads();
  at::set_num_threads(kThreads);
  ASSIGN_OR_RETURN(const TransformerConfig config, read_hf_config(smollm2_config()));
  Parameters parameters = Parameters::random(config, RandomKey(options.seed));
  parameters.requires_grad(backward);
  const Transformer model(config, std::move(parameters));
  Report report;
  RETURN_IF_ERROR(measure_lengths(options, model, backward, kMixed, true, report));
  RETURN_IF_ERROR(measure_lengths(options, model, backward, kSingle, false, report));
  at::set_num_threads(threads_before);
  return report;
}

}  // namespace

Result<Report> run_forward(const BenchOptions& options) { return run(options, false); }
Result<Report> run_backward(const BenchOptions& options) { return run(options, true); }

}  // namespace sluice::bench
