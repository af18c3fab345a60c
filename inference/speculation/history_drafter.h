#pragma once
#include "inference/speculation/ngram_drafter.h"
#include "inference/speculation/suffix_drafter.h"

namespace sluice {

/// Guesses from rollouts that have ended (SuffixDrafter), and where they say nothing from the
/// sequence itself (NgramDrafter). Learns every output, behind the end of its prompt.
class HistoryDrafter final : public Drafter {
 public:
  HistoryDrafter() : HistoryDrafter(SuffixDrafter::Options{}) {}
  explicit HistoryDrafter(SuffixDrafter::Options options) : options_(options), tree_(options) {}

  void draft(std::span<DraftQuery> queries) override;
  void finished(int64_t sequence, std::span<const int64_t> tokens, int64_t prompt) override;

  [[nodiscard]] const SuffixDrafter& tree() const noexcept { return tree_; }

 private:
  SuffixDrafter::Options options_;
  SuffixDrafter tree_;
  NgramDrafter own_;
};

}  // namespace sluice
