#pragma once
#include "dataflow/base/metrics.h"
#include "dataflow/transport/listener.h"
#include "dataflow/transport/transport.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace sluice {

/// A latest-value channel inside one process.
class LocalLatest : public std::enable_shared_from_this<LocalLatest> {
 public:
  LocalLatest(const LatestSpec& spec, MetricRegistry& metrics);

  std::unique_ptr<RawLatestPublisher> open_publisher(Waker& waker);
  std::unique_ptr<RawLatestFollower> open_follower(Waker& waker);
  [[nodiscard]] const LatestSpec& spec() const noexcept { return spec_; }

 private:
  class Publisher;
  class Follower;

  Status publish(std::shared_ptr<const void> value, const VersionTag& tag);
  void remove_publisher(bool clean);
  void wake_all(WakeList& wakes);

  LatestSpec spec_;
  Counter& published_;
  Gauge& step_;
  std::mutex mutex_;
  AnyVersioned current_;
  std::atomic<uint64_t> order_{0};  ///< order_of(current tag): what has_newer() compares
  std::vector<Listener*> followers_;
  int64_t publishers_ = 0;
  bool ended_ = false;
};

}  // namespace sluice
