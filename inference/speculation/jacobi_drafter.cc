#include "inference/speculation/jacobi_drafter.h"

#include <algorithm>

namespace sluice {

void JacobiDrafter::draft(std::span<DraftQuery> queries) {
  for (DraftQuery& query : queries) {
    if (query.tokens.empty()) continue;
    const auto most = static_cast<size_t>(query.most);
    if (const auto found = guesses_.find(query.sequence); found != guesses_.end()) {
      const std::vector<int64_t>& own = found->second;
      query.out.assign(own.begin(),
                       own.begin() + static_cast<std::ptrdiff_t>(std::min(own.size(), most)));
    }
    // Places without a guess yet begin anywhere.
    query.out.resize(most, query.tokens.back());
  }
}

void JacobiDrafter::observe(const DraftOutcome& outcome) {
  if (outcome.drafted == 0) return;
  guesses_[outcome.sequence].assign(outcome.rest.begin(), outcome.rest.end());
}

void JacobiDrafter::finished(int64_t sequence, std::span<const int64_t> /*tokens*/,
                             int64_t /*prompt*/) {
  guesses_.erase(sequence);
}

}  // namespace sluice
