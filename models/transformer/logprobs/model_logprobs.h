#pragma once
#include "models/transformer/logprobs/token_logprobs.h"
#include "models/transformer/model.h"

namespace sluice {

/// The head of a language model as token_logprobs takes it.
[[nodiscard]] LmHead lm_head(const Transformer& model);

/// Log-probs of `targets` (as next_tokens gives them; by default of every next token in the batch)
/// by one forward. Entry t is of the token that row t predicts; by_token moves it there.
Result<TokenLogprobs> token_logprobs(const Transformer& model, const PackedBatch& batch,
                                     const LogprobOptions& options = {},
                                     const at::Tensor& targets = {});

}  // namespace sluice
