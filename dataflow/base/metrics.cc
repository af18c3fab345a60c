#include "dataflow/base/metrics.h"

#include "dataflow/base/result.h"

#include <algorithm>
#include <variant>

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

/// All metrics of one name.
struct MetricRegistry::Family {
  using Metric = std::variant<Counter, DoubleCounter, Gauge, std::unique_ptr<Histogram>>;
  struct Member {
    template <class M>
    Member(const Labels* its, std::in_place_type_t<M> type) : labels(its), metric(type) {}
    Member(const Labels* its, std::unique_ptr<Histogram> histogram)
        : labels(its), metric(std::move(histogram)) {}

    const Labels* labels;
    Metric metric;
  };

  MetricSample::Kind kind;
  std::string name;
  std::string help;
  std::deque<Member> members;     // registration order
  std::vector<Member*> by_label;  // sorted by their labels: smaller than a map
};

MetricRegistry::MetricRegistry() = default;
MetricRegistry::~MetricRegistry() = default;

template <class Metric, class... A>
Metric& MetricRegistry::metric(MetricSample::Kind kind, std::string_view name,
                               std::string_view help, Labels labels, A&&... arguments) {
  const MutexLock lock(mutex_);
  auto family = by_name_.find(name);
  if (family == by_name_.end()) {
    families_.push_back({kind, std::string(name), std::string(help), {}, {}});
    family = by_name_.emplace(name, &families_.back()).first;
  }
  SLUICE_CHECK(family->second->kind == kind)
      << "metric " << name << " is registered as another kind";
  auto& by_label = family->second->by_label;
  auto member =
      std::lower_bound(by_label.begin(), by_label.end(), labels,
                       [](const auto* one, const Labels& wanted) { return *one->labels < wanted; });
  if (member == by_label.end() || *(*member)->labels != labels) {
    auto& fresh = family->second->members.emplace_back(&*labels_.insert(std::move(labels)).first,
                                                       std::forward<A>(arguments)...);
    member = by_label.insert(member, &fresh);
  }
  auto* found = std::get_if<Metric>(&(*member)->metric);
  SLUICE_CHECK(found != nullptr) << "metric " << name << " counts in another type";
  return *found;
}

Counter& MetricRegistry::counter(std::string_view name, std::string_view help, Labels labels) {
  return metric<Counter>(MetricSample::Kind::Counter, name, help, std::move(labels),
                         std::in_place_type<Counter>);
}

DoubleCounter& MetricRegistry::double_counter(std::string_view name, std::string_view help,
                                              Labels labels) {
  return metric<DoubleCounter>(MetricSample::Kind::Counter, name, help, std::move(labels),
                               std::in_place_type<DoubleCounter>);
}

Gauge& MetricRegistry::gauge(std::string_view name, std::string_view help, Labels labels) {
  return metric<Gauge>(MetricSample::Kind::Gauge, name, help, std::move(labels),
                       std::in_place_type<Gauge>);
}

Histogram& MetricRegistry::histogram(std::string_view name, std::string_view help,
                                     std::vector<double> bounds, Labels labels) {
  return *metric<std::unique_ptr<Histogram>>(MetricSample::Kind::Histogram, name, help,
                                             std::move(labels),
                                             std::make_unique<Histogram>(std::move(bounds)));
}

std::vector<MetricSample> MetricRegistry::snapshot() const {
  const MutexLock lock(mutex_);
  std::vector<MetricSample> out;
  for (const Family& family : families_) {
    for (const auto& member : family.members) {
      MetricSample sample{family.kind, family.name, family.help, *member.labels, 0, {}, {}, 0};
      if (const auto* counter = std::get_if<Counter>(&member.metric)) {
        sample.value = static_cast<double>(counter->value());
      } else if (const auto* amount = std::get_if<DoubleCounter>(&member.metric)) {
        sample.value = amount->value();
      } else if (const auto* gauge = std::get_if<Gauge>(&member.metric)) {
        sample.value = gauge->value();
      } else {
        const Histogram& histogram = *std::get<std::unique_ptr<Histogram>>(member.metric);
        sample.bounds = histogram.bounds();
        sample.counts = histogram.counts();
        sample.sum = histogram.sum();
      }
      out.push_back(std::move(sample));
    }
  }
  return out;
}

}  // namespace sluice
