#pragma once
#include "dataflow/base/mutex.h"

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

/// Label names and values, in the order given: {{"worker", "rollout"}, {"replica", "0"}}.
using Labels = std::vector<std::pair<std::string, std::string>>;

/// A number that only grows. Any thread; relaxed.
class Counter {
 public:
  void add(int64_t n = 1) noexcept { value_.fetch_add(n, std::memory_order_relaxed); }
  [[nodiscard]] int64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_{0};
};

/// A measured amount that only grows, such as seconds. Any thread; relaxed. For exporters it is a
/// counter like any other.
class DoubleCounter {
 public:
  void add(double by) noexcept { value_.fetch_add(by, std::memory_order_relaxed); }
  [[nodiscard]] double value() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

/// A number that goes up and down. Any thread; relaxed.
class Gauge {
 public:
  void set(double value) noexcept { value_.store(value, std::memory_order_relaxed); }
  [[nodiscard]] double value() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

/// Counts of observations in fixed buckets (upper bounds, ascending; one more for the rest).
class Histogram {
 public:
  explicit Histogram(std::vector<double> bounds);
  void observe(double value, int64_t times = 1) noexcept;
  [[nodiscard]] const std::vector<double>& bounds() const noexcept { return bounds_; }
  /// One count per bound plus the last for everything above.
  [[nodiscard]] std::vector<int64_t> counts() const;
  [[nodiscard]] double sum() const noexcept { return sum_.load(std::memory_order_relaxed); }
  [[nodiscard]] int64_t count() const;
  /// Value below which a share `q` (0..1) lies, interpolated inside its bucket; 0 when empty.
  [[nodiscard]] double quantile(double q) const;

 private:
  std::vector<double> bounds_;
  std::unique_ptr<std::atomic<int64_t>[]> counts_;
  std::atomic<double> sum_{0};
};

/// One metric as an exporter sees it.
struct MetricSample {
  enum class Kind : uint8_t { Counter, Gauge, Histogram };
  Kind kind = Kind::Counter;
  std::string name;
  std::string help;
  Labels labels;
  double value = 0;             ///< counters, gauge
  std::vector<double> bounds;   ///< histogram
  std::vector<int64_t> counts;  ///< histogram
  double sum = 0;               ///< histogram
};

/// Owns every metric of a process (no globals: one per run). Looking a metric up takes a lock: do
/// it once and keep the reference, which stays valid for the registry's life. The same name and
/// labels give the same metric, so a restarted worker goes on counting; one name is one kind.
/// Metrics of one name share its text, those of one worker its labels: thousands have some each.
/// Names are listed in docs/metrics.md.
class MetricRegistry {
 public:
  Counter& counter(std::string_view name, std::string_view help, Labels labels = {});
  DoubleCounter& double_counter(std::string_view name, std::string_view help, Labels labels = {});
  Gauge& gauge(std::string_view name, std::string_view help, Labels labels = {});
  Histogram& histogram(std::string_view name, std::string_view help, std::vector<double> bounds,
                       Labels labels = {});
  [[nodiscard]] std::vector<MetricSample> snapshot() const;

 private:
  struct Family;
  template <class Metric, class... A>
  Metric& metric(MetricSample::Kind kind, std::string_view name, std::string_view help,
                 Labels labels, A&&... arguments);

  mutable Mutex mutex_;
  std::deque<Family> families_ SLUICE_GUARDED_BY(mutex_);  // registration order
  std::map<std::string, Family*, std::less<>> by_name_ SLUICE_GUARDED_BY(mutex_);
  std::set<Labels> labels_ SLUICE_GUARDED_BY(mutex_);  // a worker's metrics share one

 public:
  MetricRegistry();
  ~MetricRegistry();
};

}  // namespace sluice
