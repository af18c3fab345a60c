#pragma once
#include "inference/speculation/drafter.h"

namespace sluice {

/// Looks for the last tokens earlier in the same sequence and guesses that what followed them then
/// follows again (prompt lookup). The longest match counts, of equal ones the latest. Keeps
/// nothing; any thread.
class NgramDrafter final : public TextDrafter {
 public:
  struct Options {
    int64_t longest = 4;    ///< tokens that are looked for, at most
    int64_t shortest = 2;   ///< and at least
    int64_t window = 4096;  ///< how far back
  };

  NgramDrafter() = default;
  explicit NgramDrafter(Options options) : options_(options) {}

  void guess(std::span<const int64_t> tokens, int64_t most,
             std::vector<int64_t>& out) const override;

 private:
  Options options_;
};

}  // namespace sluice
