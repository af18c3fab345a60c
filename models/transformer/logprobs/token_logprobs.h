#pragma once
#include "dataflow/base/result.h"

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace sluice {

/// A target that asks for nothing: its log-prob and entropy are 0 and it sends no gradient.
inline constexpr int64_t kIgnoreTarget = -100;

/// The last layer of a language model: logits = cap(hidden W^T + b).
struct LmHead {
  at::Tensor weight;       ///< [rows, width]
  at::Tensor bias{};       ///< [rows] or undefined
  double softcap = 0;      ///< cap * tanh(logit / cap) (Gemma 2, arXiv 2408.00118); 0: none
  int64_t vocabulary = 0;  ///< rows that are tokens, the rest is padding; 0: all
  /// Where the weight's gradient is added, in the type that log-probs are computed in, instead of
  /// being handed to autograd as a tensor of its own; undefined: nowhere.
  at::Tensor weight_gradient{};
};

struct LogprobOptions {
  double temperature = 1;  ///< divides the logits before the softmax, as when sampling
  bool entropy = false;
  /// Most logits held at once. The default keeps a tile within a large cache.
  int64_t tile = int64_t{1} << 22;
  /// When there are no more logits than this, they are kept for the backward pass instead of being
  /// made again there.
  int64_t keep = 0;
};

/// In fp64 when an input is, else in fp32.
struct TokenLogprobs {
  at::Tensor logprob;  ///< [tokens] log softmax(logits / temperature)[target]
  at::Tensor entropy;  ///< [tokens] in nats, of the same distribution; undefined unless asked for
};

/// Log-probs of `targets` (int64 [tokens], kIgnoreTarget or in the vocabulary) under the model's
/// last hidden states [tokens, width], with gradients to hidden, weight and bias. Never holds more
/// than options.tile logits (or options.keep): they are made tile by tile, reduced by an online
/// softmax (Milakov and Gimelshein, arXiv 1805.02867), and made again in the backward pass. First
/// derivatives only. A hidden row that is not finite gives NaN for its token and for no other.
///
///   ASSIGN_OR_RETURN(TokenLogprobs out, token_logprobs(hidden, {weight}, next_tokens(batch)));
Result<TokenLogprobs> token_logprobs(const at::Tensor& hidden, const LmHead& head,
                                     const at::Tensor& targets, const LogprobOptions& options = {});

/// The same by full logits and ATen's log_softmax: the checked twin, for tests and benchmarks.
Result<TokenLogprobs> token_logprobs_plain(const at::Tensor& hidden, const LmHead& head,
                                           const at::Tensor& targets,
                                           const LogprobOptions& options = {});

}  // namespace sluice
