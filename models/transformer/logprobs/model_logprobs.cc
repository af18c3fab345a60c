#include "models/transformer/logprobs/model_logprobs.h"

#include "models/transformer/logprobs/next_tokens.h"

namespace sluice {

LmHead lm_head(const Transformer& model) {
  return {model.head().weight, model.head().bias, model.config().logit_softcap, 0};
}

Result<TokenLogprobs> token_logprobs(const Transformer& model, const PackedBatch& batch,
                                     const LogprobOptions& options, const at::Tensor& targets) {
  if (model.config().head != HeadKind::Language) {
    return error(Code::FailedPrecondition, "log-probs need a model with a language head");
  }
  return token_logprobs(model.forward(batch), lm_head(model),
                        targets.defined() ? targets : next_tokens(batch), options);
}

}  // namespace sluice
