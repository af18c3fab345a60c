#include "trainer/lm/group_batch.h"

#include <ATen/ATen.h>

namespace sluice {
namespace {

at::Tensor numbers(const std::vector<int64_t>& values) { return at::tensor(values, at::kLong); }

/// Lays sequences end to end.
class Layout {
 public:
  explicit Layout(const GroupLayout& layout) : layout_(layout) { batch_.cu_seqlens.push_back(0); }

  void add(const TrainSequence& group) {
    const auto prompt = static_cast<int64_t>(group.prompt.size());
    int64_t parent = -1;
    if (layout_.share_prompts) {
      parent = batch_.sequences();
      append(group.prompt, 0);
      close(-1);
    }
    int64_t scored = 0;
    for (const std::vector<int64_t>& response : group.responses) {
      if (!layout_.share_prompts && !response.empty()) append(group.prompt, 0);
      const int64_t last_of_prompt = layout_.share_prompts
                                         ? batch_.cu_seqlens[static_cast<size_t>(parent) + 1] - 1
                                         : row() - 1;
      for (size_t j = 0; j < response.size(); ++j) {
        rows_.push_back(j == 0 ? last_of_prompt : row() - 1);
        targets_.push_back(response[j]);
        sequence_.push_back(response_);
        if (layout_.feed_last || j + 1 < response.size()) {
          token(response[j], prompt + static_cast<int64_t>(j));
        }
      }
      scored += static_cast<int64_t>(response.size());
      ++response_;
      close(parent);
    }
    group_tokens_.push_back(scored);
  }

  GroupBatch finish() {
    batch_.tokens = numbers(tokens_);
    batch_.positions = numbers(positions_);
    return {std::move(batch_), numbers(rows_), numbers(targets_), numbers(sequence_),
            std::move(group_tokens_)};
  }

 private:
  [[nodiscard]] int64_t row() const { return static_cast<int64_t>(tokens_.size()); }
  void token(int64_t id, int64_t position) {
    tokens_.push_back(id);
    positions_.push_back(position);
  }
  void append(const std::vector<int64_t>& ids, int64_t position) {
    for (const int64_t id : ids) token(id, position++);
  }
  /// Ends a sequence; one without rows is left out.
  void close(int64_t parent) {
    if (row() == batch_.cu_seqlens.back()) return;
    batch_.cu_seqlens.push_back(row());
    if (layout_.share_prompts) batch_.parents.push_back(parent);
  }

  GroupLayout layout_;
  PackedBatch batch_;
  std::vector<int64_t> tokens_, positions_, rows_, targets_, sequence_, group_tokens_;
  int64_t response_ = 0;
};

}  // namespace

int64_t packed_rows(const TrainSequence& group, const GroupLayout& layout) {
  const auto prompt = static_cast<int64_t>(group.prompt.size());
  int64_t rows = layout.share_prompts ? prompt : 0;
  for (const std::vector<int64_t>& response : group.responses) {
    if (response.empty()) continue;
    const auto length = static_cast<int64_t>(response.size());
    rows += layout.feed_last ? length : length - 1;
    if (!layout.share_prompts) rows += prompt;
  }
  return rows;
}

Status check_groups(std::span<const TrainSequence> groups, int64_t vocabulary) {
  for (size_t g = 0; g < groups.size(); ++g) {
    const TrainSequence& group = groups[g];
    if (group.prompt.empty()) {
      return invalid_argument(
          "group {} has an empty prompt: nothing predicts the first token of its responses", g);
    }
    const auto outside = [&](const std::vector<int64_t>& ids) -> const int64_t* {
      for (const int64_t& id : ids) {
        if (id < 0 || id >= vocabulary) return &id;
      }
      return nullptr;
    };
    const int64_t* wrong = outside(group.prompt);
    for (const auto& response : group.responses) {
      if (wrong == nullptr) wrong = outside(response);
    }
    if (wrong != nullptr) {
      return invalid_argument("group {} has token {}, which is not in a vocabulary of {}", g,
                              *wrong, vocabulary);
    }
  }
  return {};
}

GroupBatch pack_groups(std::span<const TrainSequence> groups, std::span<const size_t> which,
                       const GroupLayout& layout) {
  Layout out(layout);
  for (const size_t g : which) out.add(groups[g]);
  return out.finish();
}

}  // namespace sluice
