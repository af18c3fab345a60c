#pragma once
#include "dataflow/base/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::bench {

/// What a benchmark may be told from outside.
struct BenchOptions {
  std::string peer_python;  ///< interpreter of the peers' venv; empty: peers are left out
  std::string peers_dir;    ///< where the peers' programs are; empty: bench/peers of this source
  double seconds = 0;       ///< length of one measured run; 0 = what the benchmark suggests
  uint64_t seed = 1;
};

/// What a result is held against: its value, or its ratio to the peer.
struct Goal {
  enum class Of : uint8_t { Value, Ratio };
  Of of = Of::Value;
  bool at_least = true;  ///< else: at most
  double bound = 0;

  static Goal at_least_value(double bound) { return {Of::Value, true, bound}; }
  static Goal at_most_value(double bound) { return {Of::Value, false, bound}; }
  static Goal at_least_ratio(double bound) { return {Of::Ratio, true, bound}; }
  static Goal at_most_ratio(double bound) { return {Of::Ratio, false, bound}; }
  /// "value >= 200000", "ratio <= 0.2".
  [[nodiscard]] std::string text() const;
};

/// One row of the table and of the JSON.
struct BenchResult {
  std::string metric;
  double value = 0;  ///< median of the repeats
  std::string unit;
  std::vector<double> repeats;  ///< what the value is the median of; may be empty
  std::string peer;             ///< whose number stands beside ours; empty: nobody's
  std::optional<double> peer_value;
  std::vector<double> peer_repeats;
  std::optional<Goal> goal;
  std::string note;  ///< settings, circumstances; only for readers

  /// A result whose value is the median of `repeats`.
  static BenchResult of(std::string metric, std::vector<double> repeats, std::string unit);
  /// A result that was counted, not repeated.
  static BenchResult once(std::string metric, double value, std::string unit = "");
  /// Ours over the peer's; empty without a peer.
  [[nodiscard]] std::optional<double> ratio() const;
  /// Empty without a goal, or when the goal is a ratio and there is no peer.
  [[nodiscard]] std::optional<bool> met() const;
};

using Report = std::vector<BenchResult>;

/// A named measurement. It fails only when it could not measure: a missed goal is a result.
struct Bench {
  std::string_view name;
  std::string_view doc;  ///< one line
  Result<Report> (*run)(const BenchOptions&);
};

/// All of them, in the order they are listed.
[[nodiscard]] const std::vector<Bench>& benches();
/// NotFound names the nearest.
Result<Bench> find_bench(std::string_view name);

/// The middle value (mean of the two in the middle); 0 of nothing.
[[nodiscard]] double median(std::vector<double> values);
/// The value below which a share `q` lies; 0 of nothing.
[[nodiscard]] double quantile(std::vector<double> values, double q);

}  // namespace sluice::bench
