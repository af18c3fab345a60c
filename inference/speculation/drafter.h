#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

/// Guesses how a sequence goes on. Guesses are checked (acceptance.h), so a bad one costs time but
/// never changes what is drawn.
class Drafter {
 public:
  virtual ~Drafter() = default;
  /// Appends at most `most` tokens that may follow `tokens` (prompt and output so far).
  virtual void draft(std::span<const int64_t> tokens, int64_t most,
                     std::vector<int64_t>& out) const = 0;
};

}  // namespace sluice
