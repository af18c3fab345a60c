#pragma once
#include "inference/engine/request.h"
#include "inference/sampler/output_stream.h"
#include "inference/scheduler/scheduler.h"
#include "inference/speculation/draft_budget.h"

#include <memory>
#include <optional>
#include <vector>

namespace sluice {

/// The numbers of a model and an engine that bound its requests.
struct GenerationLimits {
  int64_t vocabulary = 0;
  int64_t max_length = 0;  ///< tokens of prompt and output
  std::vector<int64_t> end_tokens;
};

/// InvalidArgument when a request makes no sense for any engine of these limits.
Status check(const GenRequest& request, const GenerationLimits& limits);
/// Tokens its longest sample may have, prompt included.
[[nodiscard]] int64_t longest(const GenRequest& request, const GenerationLimits& limits);

/// One sample under way: what it has drawn, and when it ends. Pure; the engine steps it.
struct Generation {
  /// `rules` and `masks` (null without a constraint) are those of the request. Fails when the
  /// tokens of request.generated have ended the sample already, or break the constraint.
  /// `tokenizer` (may be null) outlives it.
  static Result<Generation> start(const GenRequest& request, uint32_t index,
                                  std::shared_ptr<const StopRules> rules,
                                  const Tokenizer* tokenizer,
                                  std::shared_ptr<ConstraintMasks> masks = nullptr);

  SequenceId sequence = 0;  ///< 0: none, before the prompt is computed or after the end
  TokenCounts counts;
  OutputStream stream;
  std::shared_ptr<ConstraintMasks> masks;  ///< null: no constraint
  ConstraintMasks::State place = ConstraintMasks::kStart;
  DraftRecord drafts;
  Sample out;
  bool ended = false;

  /// The tokens that may be drawn next; null: all.
  [[nodiscard]] std::shared_ptr<const TokenMask> allowed() const {
    return masks ? masks->mask(place) : nullptr;
  }
  /// Takes in the next token, drawn from the weights of `version`; sets out.reason when it is the
  /// last. Returns the text that became certain.
  std::string add(SampledToken token, const VersionTag& version);
  /// Ends it after its newest token, unless it has ended by itself.
  void end(FinishReason reason);
  /// Forgets what came after its first `tokens` tokens and `text_size` bytes of text.
  void cut(size_t tokens, size_t text_size);
};

}  // namespace sluice
