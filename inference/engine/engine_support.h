#pragma once
#include "inference/engine/engine.h"

#include <map>
#include <string>
#include <vector>

/// For tests: tiny models behind an engine.
namespace sluice::engine_support {

/// The golden model NAME (models/transformer/testdata) with room for longer sequences where its
/// positions are not learned; its end tokens end nothing.
Transformer model(const std::string& name = "llama");

inline constexpr VersionTag kVersion1{1, 1, 1, 11};
inline constexpr VersionTag kVersion2{1, 1, 2, 22};

/// A budget of 32 tokens, 64 blocks of 4, no end tokens.
EngineOptions options();
/// The same in exact mode.
EngineOptions exact_options();

/// Runs requests and keeps what came of them.
class Runner {
 public:
  explicit Runner(const Transformer& model, EngineOptions options = engine_support::options());

  /// Fails the test when the request is refused.
  RequestId submit(GenRequest request);
  /// Steps until nothing is left, checking the engine after each step.
  void run();
  void step();
  /// submit() and run().
  Completion complete(GenRequest request);

  [[nodiscard]] Engine& engine() { return *engine_; }
  [[nodiscard]] const Completion& done(RequestId id) const { return done_.at(id); }
  [[nodiscard]] bool has(RequestId id) const { return done_.contains(id); }
  [[nodiscard]] VirtualClock& clock() { return clock_; }
  /// Tokens that were streamed of a sample.
  [[nodiscard]] const std::vector<int64_t>& streamed(RequestId id, uint32_t sample = 0) {
    return streamed_[{id, sample}];
  }

 private:
  VirtualClock clock_;
  std::unique_ptr<Engine> engine_;
  std::map<RequestId, Completion> done_;
  std::map<std::pair<RequestId, uint32_t>, std::vector<int64_t>> streamed_;
};

/// A prompt of `n` tokens of the tiny models.
std::vector<int64_t> prompt(int64_t n, uint64_t seed = 1);
GenRequest greedy_request(std::vector<int64_t> prompt, int32_t max_tokens);
/// Draws at temperature 1 with this seed.
GenRequest drawn_request(std::vector<int64_t> prompt, int32_t max_tokens, uint64_t seed = 7);

/// Other weights for the same model.
Parameters other_weights(const Transformer& model, uint64_t seed);

}  // namespace sluice::engine_support
