#include "dataflow/base/metrics.h"

#include "dataflow/base/result.h"

#include <algorithm>
#include <optional>

namespace sluice {

Histogram::Histogram(std::vector<double> bounds)
    : bounds_(std::move(bounds)), counts_(new std::atomic<int64_t>[bounds_.size() + 1] {}) {}

void Histogram::observe(double value, int64_t times) noexcept {
  const auto at = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
  counts_[static_cast<size_t>(at)].fetch_add(times, std::memory_order_relaxed);
  sum_.fetch_add(value * static_cast<double>(times), std::memory_order_relaxed);
}

std::vector<int64_t> Histogram::counts() const {
  std::vector<int64_t> out(bounds_.size() + 1);
  for (size_t i = 0; i < out.size(); ++i) out[i] = counts_[i].load(std::memory_order_relaxed);
  return out;
}

int64_t Histogram::count() const {
  int64_t total = 0;
  for (const int64_t n : counts()) total += n;
  return total;
}

double Histogram::quantile(double q) const {
  const auto all = counts();
  int64_t total = 0;
  for (const int64_t n : all) total += n;
  if (total == 0 || bounds_.empty()) return 0;
  double rank = q * static_cast<double>(total);
  for (size_t i = 0; i < bounds_.size(); ++i) {
    const auto n = static_cast<double>(all[i]);
    if (rank <= n && n > 0) {
      const double low = i == 0 ? 0 : bounds_[i - 1];
      return low + (bounds_[i] - low) * rank / n;
    }
    rank -= n;
  }
  return bounds_.back();
}

struct MetricRegistry::Entry {
  MetricSample::Kind kind;
  std::string name;
  std::string help;
  Labels labels;
  Counter counter;
  Gauge gauge;
  std::optional<Histogram> histogram;
};

MetricRegistry::MetricRegistry() = default;
MetricRegistry::~MetricRegistry() = default;

MetricRegistry::Entry& MetricRegistry::entry(MetricSample::Kind kind, std::string_view name,
                                             std::string_view help, Labels labels,
                                             std::vector<double> bounds) {
  std::string key(name);
  for (const auto& [label, value] : labels) key += '\0' + label + '\0' + value;
  const std::lock_guard lock(mutex_);
  if (const auto found = by_key_.find(key); found != by_key_.end()) {
    SLUICE_CHECK(found->second->kind == kind)
        << "metric " << name << " is registered as another kind";
    return *found->second;
  }
  auto& made = entries_.emplace_back(std::make_unique<Entry>());
  made->kind = kind;
  made->name = name;
  made->help = help;
  made->labels = std::move(labels);
  if (kind == MetricSample::Kind::Histogram) made->histogram.emplace(std::move(bounds));
  by_key_[key] = made.get();
  return *made;
}

Counter& MetricRegistry::counter(std::string_view name, std::string_view help, Labels labels) {
  return entry(MetricSample::Kind::Counter, name, help, std::move(labels), {}).counter;
}

Gauge& MetricRegistry::gauge(std::string_view name, std::string_view help, Labels labels) {
  return entry(MetricSample::Kind::Gauge, name, help, std::move(labels), {}).gauge;
}

Histogram& MetricRegistry::histogram(std::string_view name, std::string_view help,
                                     std::vector<double> bounds, Labels labels) {
  return *entry(MetricSample::Kind::Histogram, name, help, std::move(labels), std::move(bounds))
              .histogram;
}

std::vector<MetricSample> MetricRegistry::snapshot() const {
  const std::lock_guard lock(mutex_);
  std::vector<MetricSample> out;
  out.reserve(entries_.size());
  for (const auto& e : entries_) {
    MetricSample sample{e->kind, e->name, e->help, e->labels, 0, {}, {}, 0};
    switch (e->kind) {
      case MetricSample::Kind::Counter:
        sample.value = static_cast<double>(e->counter.value());
        break;
      case MetricSample::Kind::Gauge:
        sample.value = e->gauge.value();
        break;
      case MetricSample::Kind::Histogram:
        sample.bounds = e->histogram->bounds();
        sample.counts = e->histogram->counts();
        sample.sum = e->histogram->sum();
        break;
    }
    out.push_back(std::move(sample));
  }
  return out;
}

}  // namespace sluice
