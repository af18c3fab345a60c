#include "inference/speculation/ngram_drafter.h"

#include <algorithm>

namespace sluice {

void NgramDrafter::guess(std::span<const int64_t> tokens, int64_t most,
                         std::vector<int64_t>& out) const {
  const auto size = static_cast<int64_t>(tokens.size());
  const int64_t begin = std::max<int64_t>(0, size - options_.window);
  int64_t best_length = 0, best_end = 0;
  // `end`: where an earlier occurrence ends; what stands there is the guess.
  for (int64_t end = size - 1; end > begin && best_length < options_.longest; --end) {
    int64_t length = 0;
    while (length < options_.longest && end - length > begin &&
           tokens[static_cast<size_t>(end - 1 - length)] ==
               tokens[static_cast<size_t>(size - 1 - length)]) {
      ++length;
    }
    if (length <= best_length) continue;
    best_length = length;
    best_end = end;
  }
  if (best_length < options_.shortest || best_length == 0) return;
  // A repetition whose period is shorter than the guess goes on into itself.
  const int64_t period = size - best_end;
  for (int64_t i = 0; i < most; ++i) {
    out.push_back(tokens[static_cast<size_t>(best_end + i % period)]);
  }
}

}  // namespace sluice
