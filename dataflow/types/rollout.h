#pragma once
#include "dataflow/base/ids.h"
#include "dataflow/types/prompt.h"
#include "dataflow/types/score.h"
#include "dataflow/types/version_run.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// One sampled completion. `logprobs` and `versions` run over `tokens`, which end with the token
/// that ended the text, if one did.
struct TokenRollout {
  std::vector<int64_t> tokens;
  std::vector<float> logprobs;       ///< of the distribution each token was drawn from
  std::vector<VersionRun> versions;  ///< who drew them
  float entropy = 0;                 ///< mean over tokens, nats, of softmax(logits / temperature)
  bool truncated = false;            ///< cut off by the limit of tokens
  std::string text;                  ///< what was judged
  Score score;
};

/// The completions of one prompt: what a group-relative algorithm trains on.
struct Group {
  static constexpr std::string_view kPayloadName = "Group";

  Prompt prompt;
  std::vector<TokenRollout> rollouts;
  VersionSpan versions;  ///< of all tokens

  [[nodiscard]] int64_t weight() const noexcept { return static_cast<int64_t>(rollouts.size()); }
};

}  // namespace sluice
