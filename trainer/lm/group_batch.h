#pragma once
#include "dataflow/base/result.h"
#include "models/transformer/packed_batch.h"

#include <span>
#include <vector>

namespace sluice {

/// A prompt and its sampled responses, as token ids; supervised examples have one response.
struct TrainSequence {
  std::vector<int64_t> prompt;
  std::vector<std::vector<int64_t>> responses;
};

/// How groups are laid out for a forward.
struct GroupLayout {
  /// One copy of each prompt, which its responses continue; else one copy for every response.
  bool share_prompts = true;
  /// Also feed each response's last token, which nothing follows: its row is computed for nothing.
  bool feed_last = false;
};

/// Groups packed for one forward. The response tokens of all groups in the order (group, response,
/// token), R in all, are what is scored; token j of a response is predicted by the row of the token
/// before it, which for all first tokens of a group is the prompt's last.
struct GroupBatch {
  PackedBatch batch;
  at::Tensor rows;      ///< int64 [R]: row of the batch that predicts the token
  at::Tensor targets;   ///< int64 [R]: the token
  at::Tensor sequence;  ///< int64 [R]: number of its response, 0.. over the whole batch
  std::vector<int64_t> group_tokens;  ///< response tokens of each group; their sum is R
};

/// Rows that pack_groups makes of a group.
[[nodiscard]] int64_t packed_rows(const TrainSequence& group, const GroupLayout& layout = {});

/// InvalidArgument when a group of the batch cannot be trained on (named by its number): no prompt
/// token to predict the first of a response, or a token outside [0, vocabulary).
Status check_groups(std::span<const TrainSequence> groups, int64_t vocabulary);

/// Packs the groups numbered in `which`, in that order. Each must have a prompt.
[[nodiscard]] GroupBatch pack_groups(std::span<const TrainSequence> groups,
                                     std::span<const size_t> which, const GroupLayout& layout = {});

}  // namespace sluice
