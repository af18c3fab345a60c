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
  /// See LocalTransport::lose().
  void lose(const Waker& waker);
  [[nodiscard]] const LatestSpec& spec() const noexcept { return spec_; }

 private:
  class Publisher;
  class Follower;

  // With the lock held.
  Status publish(std::shared_ptr<const void>& value, const VersionTag& tag, WakeList& wakes);
  void remove(Publisher& publisher, bool clean, WakeList& wakes);
  void remove(Follower& follower, bool clean);
  void wake_all(WakeList& wakes);

  LatestSpec spec_;
  Counter& published_;
  Counter& lost_publishers_;
  Counter& lost_followers_;
  Gauge& step_;
  std::mutex mutex_;
  AnyVersioned current_;
  std::atomic<uint64_t> order_{0};  ///< order_of(current tag): what has_newer() compares
  std::vector<Follower*> followers_;
  std::vector<Publisher*> publishers_;
  bool ended_ = false;
};

}  // namespace sluice
