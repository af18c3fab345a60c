#pragma once
#include "dataflow/base/random.h"
#include "inference/speculation/drafter.h"

#include <map>
#include <vector>

namespace sluice::engine_support {

/// For tests: guesses what it was told of each sample's output, some of it wrong.
class ScriptedDrafter final : public Drafter {
 public:
  /// `wrong` of ten guesses are.
  explicit ScriptedDrafter(uint64_t wrong) : wrong_(wrong) {}

  /// The output of a sample of a request with this seed.
  void tell(uint64_t seed, uint32_t sample, std::vector<int64_t> output) {
    truth_[{seed, sample}] = std::move(output);
  }

  void draft(std::span<DraftQuery> queries) override {
    for (DraftQuery& query : queries) {
      const auto found = truth_.find({query.seed, query.sample});
      if (found == truth_.end()) continue;
      const std::vector<int64_t>& output = found->second;
      for (auto at = static_cast<size_t>(query.position);
           at < output.size() && std::ssize(query.out) < query.most; ++at) {
        const bool wrong = RandomKey(query.seed).split("wrong").word(at) % 10 < wrong_;
        query.out.push_back(wrong ? (output[at] + 1) % 60 : output[at]);
      }
    }
  }
  void finished(int64_t, std::span<const int64_t>, int64_t) override { ++ended; }

  int64_t ended = 0;

 private:
  uint64_t wrong_;
  std::map<std::pair<uint64_t, uint32_t>, std::vector<int64_t>> truth_;
};

}  // namespace sluice::engine_support
