#pragma once
#include "dataflow/base/result.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace sluice {

/// How alike the beginnings of two samples are, in [0, 1]; symmetric and pure.
using TraceJudge =
    std::function<double(std::span<const int64_t> one, std::span<const int64_t> other)>;

/// The share of n-grams of tokens that both have among those that either has, each counted as often
/// as it occurs (weighted Jaccard). Of sequences shorter than n: 1 when they are equal, else 0.
[[nodiscard]] double ngram_similarity(std::span<const int64_t> one, std::span<const int64_t> other,
                                      int32_t n);

struct PruneOptions {
  int64_t after = 0;        ///< tokens of a sample by which it is judged; 0: nothing is pruned
  double similarity = 0.7;  ///< from here on two samples are alike
  TraceJudge judge;         ///< null: ngram_similarity of 3-grams
};

/// InvalidArgument in one line.
Status check(const PruneOptions& options);

/// Finds the samples of one prompt that begin as an earlier one does, so that they need not be
/// generated to their end: online greedy clustering as in DeepPrune (Tu et al., arXiv 2510.08483,
/// 3.3), where the judge is a similarity of tokens instead of a trained model, and a cluster goes
/// on with its first sample. Samples are judged in the order of their numbers, each when all before
/// it have come as far, so that what is pruned does not depend on which is faster. One thread.
class TracePruner {
 public:
  /// Options have passed check().
  TracePruner(const PruneOptions& options, int32_t samples);

  struct Duplicate {
    int32_t sample = 0;
    int32_t of = 0;  ///< the earlier one that it is like
    friend bool operator==(const Duplicate&, const Duplicate&) = default;
  };

  /// The next token of a sample. Returns those found to be duplicates by now; their first `after`
  /// tokens are what remains of them.
  std::vector<Duplicate> add(int32_t sample, int64_t token);
  /// A sample has ended by itself. One of fewer than `after` tokens is no duplicate.
  std::vector<Duplicate> end(int32_t sample);

 private:
  struct Trace {
    std::vector<int64_t> tokens;  ///< `after` at most
    bool ended = false;
  };
  std::vector<Duplicate> judge_ready();
  [[nodiscard]] bool ready(const Trace& trace) const;

  const PruneOptions& options_;
  std::vector<Trace> traces_;
  std::vector<int32_t> clusters_;  ///< their first samples
  int32_t next_ = 0;               ///< to be judged
};

}  // namespace sluice
