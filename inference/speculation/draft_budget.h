#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

/// How well guesses about one sequence fared lately. A value.
class DraftRecord {
 public:
  /// The chance that a guess is right, given that those before it are.
  [[nodiscard]] double chance() const noexcept;
  /// A step computed `drafted` guesses, the first `accepted` of which were right.
  void add(int64_t drafted, int64_t accepted) noexcept;
  /// A step passed without guesses that were worth it: what is known grows old.
  void pass() noexcept;
  /// So many steps passed that it is time for one guess, whatever is known.
  [[nodiscard]] bool due() const noexcept { return passed_ >= kPatience; }

  static constexpr int kPatience = 64;

 private:
  double right_ = 0;
  double tried_ = 0;
  int passed_ = 0;
};

/// What a step costs: seconds as a straight line over its rows, fitted to the latest steps, and the
/// seconds of making a guess. Before steps of several sizes were seen, a row costs an eighth of
/// what a step costs without any.
class StepCost {
 public:
  /// Only steps that decode: a row of a long prompt costs less.
  void add_step(int64_t rows, double seconds) noexcept;
  void add_guesses(int64_t guesses, double seconds) noexcept;

  [[nodiscard]] double of_step(int64_t rows) const noexcept;
  [[nodiscard]] double of_row() const noexcept;
  [[nodiscard]] double of_guess() const noexcept { return guess_; }

 private:
  struct Line {
    double base = 8;
    double row = 1;
  };
  [[nodiscard]] Line line() const noexcept;

  double weight_ = 0;  ///< sums over steps, each less by a fixed factor with every later one
  double rows_ = 0;
  double rows_squared_ = 0;
  double seconds_ = 0;
  double rows_seconds_ = 0;
  double guess_ = 0;
};

/// A sequence that could be guessed about.
struct DraftShare {
  double chance = 0;  ///< DraftRecord's
  int64_t most = 0;   ///< guesses that are of use
  int64_t granted = 0;
};

/// Grants guesses, at most `budget` in all: the likeliest first, as long as one brings more tokens
/// a second than the step has without it. The step has a row for each of `rows` sequences anyway.
void grant_drafts(std::span<DraftShare> shares, int64_t rows, int64_t budget, const StepCost& cost);

}  // namespace sluice
