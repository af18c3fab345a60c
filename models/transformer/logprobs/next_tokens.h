#pragma once
#include "models/transformer/packed_batch.h"

namespace sluice {

/// What each row of a packed batch predicts: the token after it in its own sequence, kIgnoreTarget
/// in the last row of every sequence. int64 [tokens].
[[nodiscard]] at::Tensor next_tokens(const PackedBatch& batch);

/// The same, for the tokens that `trained` (bool [tokens]) marks only: row t asks for token t + 1
/// when trained[t + 1].
[[nodiscard]] at::Tensor next_tokens(const PackedBatch& batch, const at::Tensor& trained);

/// Moves values of the rows that predict ([tokens], as token_logprobs gives for next_tokens) to the
/// tokens they are about: entry t is that of token t. The first token of a sequence, which nothing
/// predicts, gets 0. Gradients flow.
[[nodiscard]] at::Tensor by_token(const PackedBatch& batch, const at::Tensor& values);

}  // namespace sluice
