#pragma once
#include "dataflow/base/metrics.h"
#include "dataflow/base/mutex.h"
#include "dataflow/transport/listener.h"
#include "dataflow/transport/transport.h"

#include <atomic>
#include <cstdint>
#include <memory>
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

  Status publish(std::shared_ptr<const void>& value, const VersionTag& tag, WakeList& wakes)
      SLUICE_REQUIRES(mutex_);
  void remove(Publisher& publisher, bool clean, WakeList& wakes) SLUICE_REQUIRES(mutex_);
  void remove(Follower& follower, bool clean) SLUICE_REQUIRES(mutex_);
  void wake_all(WakeList& wakes) SLUICE_REQUIRES(mutex_);

  LatestSpec spec_;
  Counter& published_;
  Counter& lost_publishers_;
  Counter& lost_followers_;
  Gauge& step_;
  Mutex mutex_;
  AnyVersioned current_ SLUICE_GUARDED_BY(mutex_);
  std::atomic<uint64_t> order_{0};  ///< order_of(current tag): what has_newer() compares
  std::vector<Follower*> followers_ SLUICE_GUARDED_BY(mutex_);
  std::vector<Publisher*> publishers_ SLUICE_GUARDED_BY(mutex_);
  bool ended_ SLUICE_GUARDED_BY(mutex_) = false;
};

}  // namespace sluice
