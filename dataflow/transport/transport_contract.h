#pragma once
#include "dataflow/base/clock.h"
#include "dataflow/base/metrics.h"
#include "dataflow/transport/transport.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::contract {

/// A transport as the contract test sees it: two places joined by it. Readers, servers and
/// publishers are opened near, writers, clients and followers far away. In one process both are the
/// same.
class Places {
 public:
  virtual ~Places() = default;
  virtual Transport& near() = 0;
  virtual Transport& far() = 0;
  /// Lets `by` pass on the transport's clock.
  virtual void pass(TimeNs by) = 0;
  /// Waits until everything that was sent has arrived.
  virtual void settle() {}
  /// Value of a counter or gauge, over both places.
  virtual double metric(std::string_view name, const Labels& labels) = 0;
  /// Counts of a histogram's buckets, over both places.
  virtual std::vector<int64_t> buckets(std::string_view name, const Labels& labels) = 0;
};

struct Factory {
  std::string name;
  std::function<std::unique_ptr<Places>()> make;
};
inline std::ostream& operator<<(std::ostream& out, const Factory& f) { return out << f.name; }

/// The sum of all samples of that name and labels.
inline double metric_value(const MetricRegistry& registry, std::string_view name,
                           const Labels& labels) {
  double sum = 0;
  for (const MetricSample& sample : registry.snapshot()) {
    if (sample.name == name && sample.labels == labels) sum += sample.value;
  }
  return sum;
}

/// The same of a histogram's buckets; empty when there is no such histogram.
inline std::vector<int64_t> metric_buckets(const MetricRegistry& registry, std::string_view name,
                                           const Labels& labels) {
  std::vector<int64_t> sum;
  for (const MetricSample& sample : registry.snapshot()) {
    if (sample.name != name || sample.labels != labels) continue;
    sum.resize(sample.counts.size());
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += sample.counts[i];
  }
  return sum;
}

/// Waits on `waker` until `done()`; false after 10 s.
template <class F>
bool eventually(Waker& waker, F done) {
  const TimeNs deadline = after(RealClock::instance().now(), 10 * kSecond);
  for (;;) {
    const Waker::Epoch seen = waker.epoch();
    if (done()) return true;
    if (!waker.wait(seen, deadline)) return done();
  }
}

struct Number {
  static constexpr std::string_view kPayloadName = "Number";
  int64_t value = 0;
  int64_t rows = 1;
  [[nodiscard]] int64_t weight() const { return rows; }
};

inline std::shared_ptr<const Number> number(int64_t value) {
  return std::make_shared<const Number>(Number{value, 1});
}
inline VersionTag version(int64_t step, uint32_t incarnation = 1) {
  return {7, incarnation, step, static_cast<uint64_t>(step) + 100};
}
inline VersionSpan made_by(const VersionTag& tag) { return {tag, tag}; }

/// Every transport passes it: INSTANTIATE_TEST_SUITE_P(Shm, TransportContract, Values(factory)).
class TransportContract : public ::testing::TestWithParam<Factory> {
 protected:
  TransportContract() : places_(GetParam().make()) {}

  StreamWriter<Number> writer(const StreamSpec& spec) {
    return StreamWriter<Number>(*places_->far().open_writer(spec, far_waker_));
  }
  StreamReader<Number> reader(const StreamSpec& spec) {
    return StreamReader<Number>(*places_->near().open_reader(spec, near_waker_));
  }
  ServiceClient<Number, Number> client(const ServiceSpec& spec) {
    return ServiceClient<Number, Number>(*places_->far().open_client(spec, far_waker_));
  }
  ServiceServer<Number, Number> server(const ServiceSpec& spec) {
    return ServiceServer<Number, Number>(*places_->near().open_server(spec, near_waker_));
  }
  static StreamSpec stream_spec(StreamPolicy policy, int64_t writers = 1) {
    return {"s", "Number", policy, writers, 11};
  }
  static ServiceSpec service_spec(ServicePolicy policy, int64_t clients = 1) {
    return {"q", "Number -> Number", policy, clients};
  }

  PutResult put(StreamWriter<Number>& to, int64_t value, const VersionSpan& made = {}) {
    auto item = number(value);
    const PutResult result = to.try_put(item, made);
    places_->settle();
    return result;
  }
  /// Waits for `n` items.
  std::vector<int64_t> take(StreamReader<Number>& from, int64_t n) {
    std::vector<int64_t> values;
    EXPECT_TRUE(eventually(near_waker_, [&] {
      auto items = from.try_take(n);
      if (!items.ok()) return true;
      for (const auto& item : *items) values.push_back(item.value->value);
      return !items->empty();
    }));
    places_->settle();
    return values;
  }
  double of_stream(const std::string& name) {
    return places_->metric("sluice_stream_" + name, {{"channel", "s"}});
  }
  double of_service(const std::string& name) {
    return places_->metric("sluice_service_" + name, {{"channel", "q"}});
  }
  double of_latest(const std::string& name) {
    return places_->metric("sluice_latest_" + name, {{"channel", "w"}});
  }
  double dropped(const std::string& reason) {
    return places_->metric("sluice_stream_dropped_total", {{"channel", "s"}, {"reason", reason}});
  }
  double failed(const std::string& reason) {
    return places_->metric("sluice_service_failed_total", {{"channel", "q"}, {"reason", reason}});
  }

  Waker near_waker_;
  Waker far_waker_;
  std::unique_ptr<Places> places_;
};

}  // namespace sluice::contract
