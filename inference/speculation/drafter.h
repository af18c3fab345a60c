#pragma once
#include "inference/sampler/sampling_params.h"

#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

/// A sequence that wants guesses, and how its next tokens will be drawn.
struct DraftQuery {
  int64_t sequence = 0;             ///< names it in later calls
  std::span<const int64_t> tokens;  ///< prompt and output so far
  int64_t most = 0;                 ///< guesses that are of use
  const SamplingParams* sampling = nullptr;
  uint64_t seed = 0;
  uint32_t sample = 0;
  uint64_t position = 0;     ///< of the next token in the output
  std::vector<int64_t> out;  ///< the guesses, first token first
};

/// What the model said of a sequence in a step.
struct DraftOutcome {
  int64_t sequence = 0;
  int64_t drafted = 0;
  int64_t accepted = 0;
  /// The last hidden state behind which the newest token was drawn; with needs().hidden only.
  std::span<const float> hidden;
  /// The likeliest token behind each guess from the first wrong one on; with needs().rest only.
  std::span<const int64_t> rest;
};

/// Guesses how sequences go on. Guesses are checked: a token is drawn as ever, and the next one may
/// be drawn in the same step when the guess was the token that was drawn. So a bad guess costs
/// time, but never changes what is drawn. One thread, the engine's.
class Drafter {
 public:
  struct Needs {
    bool hidden = false;
    bool rest = false;
  };

  virtual ~Drafter() = default;
  /// Adds up to `most` guesses to `out` of each query.
  virtual void draft(std::span<DraftQuery> queries) = 0;
  /// What observe() must be told.
  [[nodiscard]] virtual Needs needs() const { return {}; }
  virtual void observe(const DraftOutcome& /*outcome*/) {}
  /// A sequence has ended: all its tokens, the first `prompt` of which were given.
  virtual void finished(int64_t /*sequence*/, std::span<const int64_t> /*tokens*/,
                        int64_t /*prompt*/) {}
};

/// A drafter that looks at nothing but the tokens of one sequence.
class TextDrafter : public Drafter {
 public:
  /// Appends at most `most` tokens that may follow `tokens`.
  virtual void guess(std::span<const int64_t> tokens, int64_t most,
                     std::vector<int64_t>& out) const = 0;
  void draft(std::span<DraftQuery> queries) override {
    for (DraftQuery& query : queries) guess(query.tokens, query.most, query.out);
  }
};

}  // namespace sluice
