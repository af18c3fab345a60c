#pragma once
#include "models/transformer/model.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace sluice {

struct GreedyOptions {
  int64_t max_tokens = 128;
  std::vector<int64_t> stop;  ///< the continuation ends before any of these
  /// Told of each token as it is chosen; false ends the continuation after it. May be empty.
  std::function<bool(int64_t token)> on_token;
};

/// The most likely continuation of `prompt`, token by token with a cache. InvalidArgument when the
/// prompt is empty, holds an id outside the vocabulary, or is longer than the model's context
/// (context_length), where a continuation ends at the latest. One call per thread; the model is
/// only read.
Result<std::vector<int64_t>> greedy(const Transformer& model, const std::vector<int64_t>& prompt,
                                    const GreedyOptions& options);

}  // namespace sluice
