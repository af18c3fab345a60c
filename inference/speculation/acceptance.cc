#include "inference/speculation/acceptance.h"

#include <algorithm>

namespace sluice {
namespace {

double probability(std::span<const TokenProbability> distribution, int64_t token) noexcept {
  const auto at =
      std::lower_bound(distribution.begin(), distribution.end(), token,
                       [](const TokenProbability& p, int64_t id) { return p.token < id; });
  return at != distribution.end() && at->token == token ? at->probability : 0;
}

/// f(token, max(target - draft, 0)) for every token of the target.
template <class F>
void each_residual(std::span<const TokenProbability> target,
                   std::span<const TokenProbability> draft, const F& f) {
  auto q = draft.begin();
  for (const TokenProbability& p : target) {
    while (q != draft.end() && q->token < p.token) ++q;
    const double drafted = q != draft.end() && q->token == p.token ? q->probability : 0;
    f(p.token, std::max(p.probability - drafted, 0.0));
  }
}

}  // namespace

int64_t draw_token(std::span<const TokenProbability> distribution, double uniform) noexcept {
  double sum = 0;
  int64_t last = -1;
  for (const TokenProbability& p : distribution) {
    if (!(p.probability > 0)) continue;
    sum += p.probability;
    last = p.token;
    if (sum > uniform) break;
  }
  return last;
}

Acceptance accept_or_resample(std::span<const TokenProbability> target,
                              std::span<const TokenProbability> draft, int64_t drafted,
                              double uniform, double uniform_again) noexcept {
  const double p = probability(target, drafted), q = probability(draft, drafted);
  if (uniform * q < p) return {true, drafted};
  double total = 0;
  each_residual(target, draft, [&](int64_t, double rest) { total += rest; });
  // Equal but for rounding: nothing is left to draw from, and the target is as good.
  if (!(total > 0)) return {false, draw_token(target, uniform_again)};
  double sum = 0;
  Acceptance out;
  bool found = false;
  each_residual(target, draft, [&](int64_t token, double rest) {
    if (found || !(rest > 0)) return;
    sum += rest;
    out.token = token;  // the last one with a share, where rounding leaves none
    found = sum > uniform_again * total;
  });
  return out;
}

}  // namespace sluice
