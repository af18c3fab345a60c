#include "inference/sampler/sampling_reference.h"

#include "dataflow/base/random.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sluice::reference {
namespace {

void normalise(std::vector<double>& p) {
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& v : p) v /= sum;
}

/// Upper regularised incomplete gamma function Q(a, x): series below a + 1, continued fraction
/// above (Lentz's method).
double upper_gamma(double a, double x) {
  if (x <= 0) return 1;
  const double front = std::exp(a * std::log(x) - x - std::lgamma(a));
  if (x < a + 1) {
    double term = 1 / a, sum = term;
    for (int n = 1; n < 10000 && term > 1e-16 * sum; ++n) sum += term *= x / (a + n);
    return 1 - front * sum;
  }
  double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;
  for (int n = 1; n < 10000; ++n) {
    const double an = -n * (n - a);
    b += 2;
    d = 1 / (an * d + b);
    c = b + an / c;
    h *= d * c;
    if (std::abs(d * c - 1) < 1e-15) break;
  }
  return front * h;
}

std::vector<double> adjusted(std::span<const float> logits, const SamplingParams& params,
                             const TokenCounts& counts, const TokenLimits& limits) {
  std::vector<double> x(logits.begin(), logits.end());
  const auto forbid = [&](std::span<const int64_t> ids) {
    for (const int64_t id : ids) x[static_cast<size_t>(id)] = -INFINITY;
  };
  for (size_t i = 0; i < x.size(); ++i) {
    const auto id = static_cast<int64_t>(i);
    const auto& allowed = params.allowed_tokens;
    if (!allowed.empty() && std::find(allowed.begin(), allowed.end(), id) == allowed.end()) {
      x[i] = -INFINITY;
    }
    if (limits.allowed != nullptr && !limits.allowed->allows(id)) x[i] = -INFINITY;
  }
  if (counts.generated() < params.min_tokens) {
    forbid(params.stop_token_ids);
    if (!params.ignore_eos) forbid(limits.eos_ids);
  }
  for (const auto& [id, bias] : params.logit_bias) x[static_cast<size_t>(id)] += bias;
  for (const auto& seen : counts.entries()) {
    double& v = x[static_cast<size_t>(seen.token)];
    v = v > 0 ? v / params.repetition_penalty : v * params.repetition_penalty;
    v -= params.frequency_penalty * seen.output + (seen.output > 0 ? params.presence_penalty : 0);
  }
  return x;
}

}  // namespace

std::vector<double> log_softmax(std::span<const float> x, double temperature) {
  std::vector<double> out;
  for (const float v : x) out.push_back(v / temperature);
  const double max = *std::max_element(out.begin(), out.end());
  double sum = 0;
  for (const double v : out) sum += std::exp(v - max);
  for (double& v : out) v -= max + std::log(sum);
  return out;
}

std::vector<double> distribution(std::span<const float> logits, const SamplingParams& params,
                                 const TokenCounts& counts, const TokenLimits& limits) {
  const std::vector<double> x = adjusted(logits, params, counts, limits);
  std::vector<size_t> order(x.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return x[a] > x[b] || (x[a] == x[b] && a < b); });
  const double max = x[order[0]];
  std::vector<double> p(x.size(), 0);
  if (is_greedy(params)) {
    p[order[0]] = 1;
    return p;
  }
  for (size_t i = 0; i < x.size(); ++i) p[i] = std::exp((x[i] - max) / params.temperature);
  const auto keep_first = [&](size_t count) {
    for (size_t i = count; i < order.size(); ++i) p[order[i]] = 0;
    normalise(p);
  };
  keep_first(params.top_k > 0 ? static_cast<size_t>(params.top_k) : x.size());
  size_t nucleus = 0;
  for (double sum = 0; nucleus < order.size() && sum < params.top_p;) sum += p[order[nucleus++]];
  keep_first(params.top_p < 1 ? nucleus : x.size());
  const double least = params.min_p * p[order[0]];
  for (double& v : p) v = v < least ? 0 : v;
  normalise(p);
  return p;
}

std::vector<float> row(int64_t n, float scale, uint64_t seed) {
  std::vector<float> out;
  for (int64_t i = 0; i < n; ++i) {
    out.push_back(scale * RandomKey(seed).normal(static_cast<uint64_t>(i))[0]);
  }
  return out;
}

double chi_square_p(std::span<const int64_t> counts, std::span<const double> p) {
  double draws = 0;
  for (const int64_t count : counts) draws += static_cast<double>(count);
  double statistic = 0, rest_seen = 0, rest_expected = 0;
  int cells = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    const double seen = static_cast<double>(counts[i]), expected = draws * p[i];
    if (p[i] == 0 && counts[i] > 0) return 0;
    if (expected < 5) {
      rest_seen += seen;
      rest_expected += expected;
      continue;
    }
    ++cells;
    statistic += (seen - expected) * (seen - expected) / expected;
  }
  if (rest_expected > 0) {
    ++cells;
    statistic += (rest_seen - rest_expected) * (rest_seen - rest_expected) / rest_expected;
  }
  return cells < 2 ? 1 : upper_gamma((cells - 1) / 2.0, statistic / 2);
}

}  // namespace sluice::reference
