#include "models/transformer/greedy.h"

#include "models/transformer/kv_cache.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

namespace sluice {

Result<std::vector<int64_t>> greedy(const Transformer& model, const std::vector<int64_t>& prompt,
                                    const GreedyOptions& options) {
  const at::NoGradGuard no_grad;
  const TransformerConfig& config = model.config();
  const auto prompted = static_cast<int64_t>(prompt.size());
  if (prompt.empty()) return invalid_argument("the prompt has no tokens");
  for (const int64_t id : prompt) {
    if (id < 0 || id >= config.vocab_size) {
      return invalid_argument("token {} is outside the vocabulary of {}", id, config.vocab_size);
    }
  }
  const int64_t context = context_length(config);
  if (prompted > context) {
    return invalid_argument("the prompt has {} tokens, the model takes {}", prompted, context);
  }
  const int64_t room = std::min(options.max_tokens, context - prompted);
  ContiguousKvCache cache(static_cast<int64_t>(config.layers.size()), 1);
  std::vector<int64_t> out;
  std::vector<int64_t> next = prompt;
  int64_t position = 0;
  // The prompt goes in by pieces, since hidden states of all of it can be larger than the model.
  // Dynamic RoPE takes its base from the length of a forward.
  constexpr int64_t kPiece = 512;
  const bool whole = config.rope.type == RopeType::Dynamic && config.rope.dynamic_length == 0;
  for (; room > 0 && !whole && prompted - position > kPiece; position += kPiece) {
    const auto begin = prompt.begin() + position;
    static_cast<void>(model.forward(pack({{begin, begin + kPiece}}, {position}), &cache));
    next.assign(begin + kPiece, prompt.end());
  }
  while (static_cast<int64_t>(out.size()) < room) {
    const at::Tensor hidden = model.forward(pack({next}, {position}), &cache);
    position += static_cast<int64_t>(next.size());
    const at::Tensor scores = model.logits(hidden.slice(0, hidden.size(0) - 1));
    const int64_t token = scores.argmax(-1).item<int64_t>();
    if (std::find(options.stop.begin(), options.stop.end(), token) != options.stop.end()) break;
    out.push_back(token);
    if (options.on_token && !options.on_token(token)) break;
    next = {token};
  }
  return out;
}

}  // namespace sluice
