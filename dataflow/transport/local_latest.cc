#include "dataflow/transport/local_latest.h"

#include <utility>

namespace sluice {
namespace {

/// Orders tags as newer() does, in one word: 24 bits of incarnation, 40 of step + 1; 0 for no tag.
uint64_t order_of(const VersionTag& tag) noexcept {
  if (!tag.valid()) return 0;
  return (static_cast<uint64_t>(tag.incarnation) << 40) + static_cast<uint64_t>(tag.step) + 1;
}

}  // namespace

// Every operation declares its WakeList before the lock, so that wake-ups go out after it.

class LocalLatest::Publisher final : public RawLatestPublisher {
 public:
  Publisher(std::shared_ptr<LocalLatest> latest, Waker& waker)
      : latest_(std::move(latest)), waker_(waker) {
    const MutexLock lock(latest_->mutex_);
    latest_->publishers_.push_back(this);
    latest_->ended_ = false;
  }
  ~Publisher() override { remove(false); }
  Status publish(std::shared_ptr<const void> value, const VersionTag& tag) override {
    WakeList wakes;
    const MutexLock lock(latest_->mutex_);
    if (!open_) return error(Code::FailedPrecondition, "this publisher is closed");
    return latest_->publish(value, tag, wakes);
  }
  void close() override { remove(true); }

 private:
  friend class LocalLatest;
  void remove(bool clean) {
    WakeList wakes;
    const MutexLock lock(latest_->mutex_);
    latest_->remove(*this, clean, wakes);
  }

  std::shared_ptr<LocalLatest> latest_;
  const Waker& waker_;
  bool open_ = true;
};

class LocalLatest::Follower final : public RawLatestFollower {
 public:
  Follower(std::shared_ptr<LocalLatest> latest, Waker& waker)
      : latest_(std::move(latest)), listener_(waker) {
    const MutexLock lock(latest_->mutex_);
    latest_->followers_.push_back(this);
  }
  ~Follower() override {
    remove(false);
    listener_.drain();
  }
  AnyVersioned current() override {
    const MutexLock lock(latest_->mutex_);
    return latest_->current_;
  }
  [[nodiscard]] bool has_newer(const VersionTag& tag) const override {
    return latest_->order_.load(std::memory_order_acquire) > order_of(tag);
  }
  [[nodiscard]] bool ended() const override {
    const MutexLock lock(latest_->mutex_);
    return latest_->ended_;
  }
  void close() override { remove(true); }

 private:
  friend class LocalLatest;
  void remove(bool clean) {
    const MutexLock lock(latest_->mutex_);
    latest_->remove(*this, clean);
  }

  std::shared_ptr<LocalLatest> latest_;
  Listener listener_;
  bool open_ = true;
};

LocalLatest::LocalLatest(const LatestSpec& spec, MetricRegistry& metrics)
    : spec_(spec),
      published_(metrics.counter("sluice_latest_published_total", "versions published",
                                 {{"channel", spec.name}})),
      lost_publishers_(metrics.counter("sluice_latest_lost_publishers_total",
                                       "publishers that went away without closing",
                                       {{"channel", spec.name}})),
      lost_followers_(metrics.counter("sluice_latest_lost_followers_total",
                                      "followers that went away without closing",
                                      {{"channel", spec.name}})),
      step_(metrics.gauge("sluice_latest_step", "step of the newest version",
                          {{"channel", spec.name}})) {}

Status LocalLatest::publish(std::shared_ptr<const void>& value, const VersionTag& tag,
                            WakeList& wakes) {
  if (!tag.valid() || value == nullptr) {
    return invalid_argument("channel '{}': a version needs a value and a step, not {}", spec_.name,
                            tag.to_string());
  }
  if (current_.tag.valid() && !newer(tag, current_.tag)) {
    return error(Code::FailedPrecondition, "channel '{}': {} is not newer than {}", spec_.name,
                 tag.to_string(), current_.tag.to_string());
  }
  current_.value.swap(value);  // the old one is let go outside the lock, by the caller's frame
  current_.tag = tag;
  order_.store(order_of(tag), std::memory_order_release);
  published_.add();
  step_.set(static_cast<double>(tag.step));
  wake_all(wakes);
  return {};
}

void LocalLatest::remove(Publisher& publisher, bool clean, WakeList& wakes) {
  if (!std::exchange(publisher.open_, false)) return;
  std::erase(publishers_, &publisher);
  if (!clean) lost_publishers_.add();
  if (!clean || !publishers_.empty()) return;
  ended_ = true;
  wake_all(wakes);
}

void LocalLatest::remove(Follower& follower, bool clean) {
  if (!std::exchange(follower.open_, false)) return;
  std::erase(followers_, &follower);
  if (!clean) lost_followers_.add();
}

void LocalLatest::lose(const Waker& waker) {
  WakeList wakes;
  const MutexLock lock(mutex_);
  const std::vector<Publisher*> publishers = publishers_;  // copies: removal changes the lists
  const std::vector<Follower*> followers = followers_;
  for (Publisher* publisher : publishers) {
    if (&publisher->waker_ == &waker) remove(*publisher, false, wakes);
  }
  for (Follower* follower : followers) {
    if (follower->listener_.wakes(waker)) remove(*follower, false);
  }
}

void LocalLatest::wake_all(WakeList& wakes) {
  for (Follower* follower : followers_) {
    follower->listener_.armed = true;  // has_newer() looks without the lock: every change is told
    wakes.add(follower->listener_);
  }
}

std::unique_ptr<RawLatestPublisher> LocalLatest::open_publisher(Waker& waker) {
  return std::make_unique<Publisher>(shared_from_this(), waker);
}

std::unique_ptr<RawLatestFollower> LocalLatest::open_follower(Waker& waker) {
  return std::make_unique<Follower>(shared_from_this(), waker);
}

}  // namespace sluice
