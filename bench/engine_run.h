#pragma once
#include "dataflow/base/clock.h"
#include "inference/engine/engine.h"
#include "inference/kernels/linear_kernels.h"

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace sluice::bench {

/// An engine with SmolLM2-135M's shape and random weights, and prompts for it.
class EngineRun {
 public:
  struct Options {
    WeightFormat weights = WeightFormat::Bf16;
    bool packed = true;  ///< false: LibTorch multiplies (fp32)
    KvFormat kv = KvFormat::Fp32;
    int64_t layers = 30;
    int64_t max_length = 4096;
    int64_t kv_mib = 6144;
    std::shared_ptr<const Tokenizer> tokenizer = nullptr;
    std::function<void(PreparedWeights)> retire = nullptr;
    bool prefix_cache = false;
    int64_t token_budget = 512;
    uint64_t seed = 1;
  };
  static Result<EngineRun> create(const Options& options);

  /// `count` prompts of `length` tokens, all different.
  [[nodiscard]] std::vector<std::vector<int64_t>> prompts(int64_t count, int64_t length);

  /// When what happened, in seconds after the requests were handed in.
  struct Times {
    double first = 0;  ///< all prompts are computed: the last first token came
    double end = 0;
    int64_t tokens = 0;           ///< drawn
    int64_t tokens_at_first = 0;  ///< drawn until then
    /// Tokens per second of those that came after `first`.
    [[nodiscard]] double decode_rate() const {
      return static_cast<double>(tokens - tokens_at_first) / (end - first);
    }
  };
  /// Draws exactly `max_tokens` tokens for each of `n` samples of every prompt, all at once.
  Result<Times> run(const std::vector<std::vector<int64_t>>& prompts, int32_t max_tokens,
                    int32_t n = 1);

  [[nodiscard]] Engine& engine() noexcept { return *engine_; }
  /// For a server; run() must not be called any more.
  [[nodiscard]] std::unique_ptr<Engine> release() noexcept { return std::move(engine_); }
  /// Bytes of weights that a token reads.
  [[nodiscard]] int64_t weight_bytes() const noexcept { return *weight_bytes_; }

 private:
  EngineRun() = default;
  std::unique_ptr<Engine> engine_;
  std::shared_ptr<int64_t> weight_bytes_ = std::make_shared<int64_t>(0);
  uint64_t seed_ = 0;
  uint64_t drawn_ = 0;
};

}  // namespace sluice::bench
