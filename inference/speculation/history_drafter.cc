#include "inference/speculation/history_drafter.h"

#include <algorithm>

namespace sluice {

void HistoryDrafter::draft(std::span<DraftQuery> queries) {
  for (DraftQuery& query : queries) {
    tree_.guess(query.tokens, query.most, query.out);
    if (query.out.empty()) own_.guess(query.tokens, query.most, query.out);
  }
}

void HistoryDrafter::finished(int64_t /*sequence*/, std::span<const int64_t> tokens,
                              int64_t prompt) {
  // What the output began behind belongs to what is remembered; the rest of a prompt, which many
  // samples share, does not.
  const int64_t begin = std::max<int64_t>(0, prompt - options_.depth);
  tree_.add(tokens.subspan(static_cast<size_t>(begin)));
}

}  // namespace sluice
