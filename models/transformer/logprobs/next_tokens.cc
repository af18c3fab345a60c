#include "models/transformer/logprobs/next_tokens.h"

#include "dataflow/base/result.h"
#include "models/transformer/logprobs/token_logprobs.h"

#include <ATen/ATen.h>

namespace sluice {
namespace {
/// Calls f(first, last) with the rows of every sequence that is not empty.
template <class F>
void for_each_sequence(const PackedBatch& batch, const F& f) {
  for (int64_t i = 0; i < batch.sequences(); ++i) {
    const int64_t first = batch.cu_seqlens[static_cast<size_t>(i)];
    if (batch.length(i) > 0) f(first, first + batch.length(i) - 1);
  }
}
}  // namespace

at::Tensor next_tokens(const PackedBatch& batch) {
  at::Tensor targets = at::roll(batch.tokens, -1);
  for_each_sequence(batch, [&](int64_t, int64_t last) { targets[last].fill_(kIgnoreTarget); });
  return targets;
}

at::Tensor next_tokens(const PackedBatch& batch, const at::Tensor& trained) {
  SLUICE_CHECK(trained.sizes() == batch.tokens.sizes() && trained.scalar_type() == at::kBool)
      << "the mask is not bool of the tokens' shape";
  return next_tokens(batch).masked_fill(at::roll(trained, -1).logical_not(), kIgnoreTarget);
}

at::Tensor by_token(const PackedBatch& batch, const at::Tensor& values) {
  SLUICE_CHECK(values.sizes() == batch.tokens.sizes()) << "one value a token is needed";
  at::Tensor first = at::zeros_like(batch.tokens, at::kBool);
  for_each_sequence(batch, [&](int64_t begin, int64_t) { first[begin].fill_(true); });
  return at::roll(values, 1).masked_fill(first, 0);
}

}  // namespace sluice
