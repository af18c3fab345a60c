#pragma once
#include "dataflow/base/clock.h"
#include "dataflow/base/result.h"
#include "dataflow/types/version_run.h"
#include "inference/sampler/constraint/constraint.h"
#include "inference/sampler/sampler.h"
#include "inference/sampler/stop_rules.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

using RequestId = int64_t;

/// What an engine is asked: to continue a prompt, n times.
struct GenRequest {
  std::vector<int64_t> prompt;
  SamplingParams sampling;
  /// To go on where an earlier request was cut off: its output so far, which counts as output here
  /// (max_tokens, penalties, random numbers). Give the same seed and sample.
  std::vector<int64_t> generated;
  uint32_t first_sample = 0;     ///< samples are numbered from here: each number has its own draws
  int64_t priority = 0;          ///< lower goes first, and takes the places of higher ones
  std::optional<int64_t> order;  ///< then lower goes first; by default requests in their order
  TimeNs deadline = kForever;    ///< on the engine's clock
  std::string salt;              ///< prefixes are shared among equal salts only
  /// The text of each output is one that this allows, unless it ends before (max_tokens, a stop
  /// string, an abort). Needs an engine with a tokenizer. Null: any text.
  std::shared_ptr<const Constraint> constraint;
};

/// One continuation. The lists have one entry for each of `tokens`.
struct Sample {
  uint32_t index = 0;
  std::vector<int64_t> tokens;  ///< drawn by this request, with the stop token that ended it
  std::vector<float> logprobs;  ///< of the distribution each was drawn from
  std::vector<float> logprobs_temperature;  ///< of softmax(logits / temperature)
  std::vector<float> entropies;
  std::vector<int32_t> kept;                   ///< tokens that could have been drawn
  std::vector<std::vector<TokenLogprob>> top;  ///< empty without top_logprobs
  std::vector<VersionRun> versions;            ///< in order, by index into `tokens`
  std::string text;  ///< of `tokens`, up to the stop string; empty without a tokenizer
  FinishReason reason = FinishReason::None;
  Status error;  ///< why, when it failed or its deadline came
};

struct Completion {
  RequestId id = 0;
  std::vector<Sample> samples;
  /// When asked for: log softmax(logits / temperature)[token] of every prompt token; 0 for the
  /// first one, which nothing predicts.
  std::vector<float> prompt_logprobs;
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;  ///< of the prompt, whose keys and values were found
};

/// A token as it comes. Refers to what lives during the call only.
struct TokenEvent {
  RequestId request = 0;
  uint32_t sample = 0;
  const SampledToken& token;
  const std::string& text;  ///< that became certain; empty without a tokenizer
  FinishReason finish = FinishReason::None;
};

/// Who is told. Called by the thread that steps or aborts, when the engine's state is settled: they
/// may submit and abort. Either may be empty.
struct GenListener {
  std::function<void(const TokenEvent&)> on_token;
  std::function<void(Completion)> on_done;  ///< last, exactly once
};

}  // namespace sluice
