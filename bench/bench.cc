#include "bench/bench.h"

#include <algorithm>
#include <cmath>

namespace sluice::bench {

std::string Goal::text() const {
  return fmt::format("{} {} {:g}", of == Of::Value ? "value" : "ratio",
                     at_least ? ">=" : "<=", bound);
}

BenchResult BenchResult::of(std::string metric, std::vector<double> repeats, std::string unit) {
  BenchResult out;
  out.metric = std::move(metric);
  out.value = median(repeats);
  out.unit = std::move(unit);
  out.repeats = std::move(repeats);
  return out;
}

BenchResult BenchResult::once(std::string metric, double value, std::string unit) {
  BenchResult out;
  out.metric = std::move(metric);
  out.value = value;
  out.unit = std::move(unit);
  return out;
}

std::optional<double> BenchResult::ratio() const {
  if (!peer_value || *peer_value == 0) return std::nullopt;
  return value / *peer_value;
}

std::optional<bool> BenchResult::met() const {
  if (!goal) return std::nullopt;
  const auto reached = goal->of == Goal::Of::Value ? std::optional(value) : ratio();
  if (!reached) return std::nullopt;
  return goal->at_least ? *reached >= goal->bound : *reached <= goal->bound;
}

double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(std::floor(at));
  const auto above = std::min(below + 1, values.size() - 1);
  const double share = at - std::floor(at);
  return values[below] * (1 - share) + values[above] * share;
}

}  // namespace sluice::bench
