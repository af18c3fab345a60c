#include "inference/speculation/draft_budget.h"

#include <algorithm>
#include <queue>
#include <utility>

namespace sluice {
namespace {

// What a new sequence is believed to be worth, as if it had been seen so many times.
constexpr double kPriorChance = 0.5;
constexpr double kPriorWeight = 1;
constexpr double kMemoryOfGuess = 0.9;  // a guess tried counts so much less after the next one
constexpr double kMemoryOfPass = 0.995;
constexpr double kMemoryOfStep = 0.97;
constexpr double kPriorBase = 8;  // rows that cost as much as a step without any

}  // namespace

double DraftRecord::chance() const noexcept {
  return (right_ + kPriorChance * kPriorWeight) / (tried_ + kPriorWeight);
}

void DraftRecord::add(int64_t drafted, int64_t accepted) noexcept {
  // Behind the first wrong guess nothing is learned.
  const int64_t tries = std::min(accepted + 1, drafted);
  passed_ = 0;
  for (int64_t i = 0; i < tries; ++i) {
    right_ = right_ * kMemoryOfGuess + (i < accepted ? 1 : 0);
    tried_ = tried_ * kMemoryOfGuess + 1;
  }
}

void DraftRecord::pass() noexcept {
  right_ *= kMemoryOfPass;
  tried_ *= kMemoryOfPass;
  if (passed_ < kPatience) ++passed_;
}

void StepCost::add_step(int64_t rows, double seconds) noexcept {
  if (rows < 1 || !(seconds > 0)) return;
  // By relative error: a slow step must not count for more than a fast one.
  const double w = 1 / (seconds * seconds), r = static_cast<double>(rows);
  weight_ = weight_ * kMemoryOfStep + w;
  rows_ = rows_ * kMemoryOfStep + w * r;
  rows_squared_ = rows_squared_ * kMemoryOfStep + w * r * r;
  seconds_ = seconds_ * kMemoryOfStep + w * seconds;
  rows_seconds_ = rows_seconds_ * kMemoryOfStep + w * r * seconds;
}

void StepCost::add_guesses(int64_t guesses, double seconds) noexcept {
  if (guesses < 1 || seconds < 0) return;
  const double each = seconds / static_cast<double>(guesses);
  guess_ = guess_ > 0 ? 0.9 * guess_ + 0.1 * each : each;
}

StepCost::Line StepCost::line() const noexcept {
  if (!(weight_ > 0)) return {kPriorBase, 1};
  const double rows = rows_ / weight_, seconds = seconds_ / weight_;
  const double variance = std::max(0.0, rows_squared_ / weight_ - rows * rows);
  const double together = rows_seconds_ / weight_ - rows * seconds;
  // The less the steps differ in size, the more the first belief counts.
  constexpr double kPriorVariance = 0.05;
  const double believed = seconds / (kPriorBase + rows);
  const double slope = (together + kPriorVariance * believed) / (variance + kPriorVariance);
  const double row = std::clamp(slope, 0.02 * seconds / rows, seconds / rows);
  return {seconds - row * rows, row};
}

double StepCost::of_step(int64_t rows) const noexcept {
  const Line own = line();
  return own.base + own.row * static_cast<double>(rows);
}

double StepCost::of_row() const noexcept { return line().row; }

void grant_drafts(std::span<DraftShare> shares, int64_t rows, int64_t budget,
                  const StepCost& cost) {
  double tokens = static_cast<double>(rows);
  double seconds = cost.of_step(rows);
  const double price = cost.of_row() + cost.of_guess();
  std::priority_queue<std::pair<double, size_t>> next;  // the chance that this guess counts
  for (size_t i = 0; i < shares.size(); ++i) {
    shares[i].granted = 0;
    if (shares[i].most > 0) next.emplace(shares[i].chance, i);
  }
  for (; !next.empty() && budget > 0; --budget) {
    const auto [chance, i] = next.top();
    next.pop();
    if (chance * seconds <= price * tokens) return;  // and so for all others
    DraftShare& own = shares[i];
    tokens += chance;
    seconds += price;
    if (++own.granted < own.most) next.emplace(chance * own.chance, i);
  }
}

}  // namespace sluice
