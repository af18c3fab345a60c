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

class LocalLatest::Publisher final : public RawLatestPublisher {
 public:
  explicit Publisher(std::shared_ptr<LocalLatest> latest) : latest_(std::move(latest)) {}
  ~Publisher() override {
    if (open_) latest_->remove_publisher(false);
  }
  Status publish(std::shared_ptr<const void> value, const VersionTag& tag) override {
    if (!open_) return error(Code::FailedPrecondition, "this publisher is closed");
    return latest_->publish(std::move(value), tag);
  }
  void close() override {
    if (std::exchange(open_, false)) latest_->remove_publisher(true);
  }

 private:
  std::shared_ptr<LocalLatest> latest_;
  bool open_ = true;
};

class LocalLatest::Follower final : public RawLatestFollower {
 public:
  Follower(std::shared_ptr<LocalLatest> latest, Waker& waker)
      : latest_(std::move(latest)), listener_(waker) {
    const std::lock_guard lock(latest_->mutex_);
    latest_->followers_.push_back(&listener_);
  }
  ~Follower() override {
    {
      const std::lock_guard lock(latest_->mutex_);
      std::erase(latest_->followers_, &listener_);
    }
    listener_.drain();
  }
  AnyVersioned current() override {
    const std::lock_guard lock(latest_->mutex_);
    return latest_->current_;
  }
  [[nodiscard]] bool has_newer(const VersionTag& tag) const override {
    return latest_->order_.load(std::memory_order_acquire) > order_of(tag);
  }
  [[nodiscard]] bool ended() const override {
    const std::lock_guard lock(latest_->mutex_);
    return latest_->ended_;
  }

 private:
  std::shared_ptr<LocalLatest> latest_;
  Listener listener_;
};

LocalLatest::LocalLatest(const LatestSpec& spec, MetricRegistry& metrics)
    : spec_(spec),
      published_(metrics.counter("sluice_latest_published_total", "versions published",
                                 {{"channel", spec.name}})),
      step_(metrics.gauge("sluice_latest_step", "step of the newest version",
                          {{"channel", spec.name}})) {}

Status LocalLatest::publish(std::shared_ptr<const void> value, const VersionTag& tag) {
  if (!tag.valid() || value == nullptr) {
    return invalid_argument("channel '{}': a version needs a value and a step, not {}", spec_.name,
                            tag.to_string());
  }
  WakeList wakes;
  const std::lock_guard lock(mutex_);
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

void LocalLatest::remove_publisher(bool clean) {
  WakeList wakes;
  const std::lock_guard lock(mutex_);
  --publishers_;
  if (!clean || publishers_ > 0) return;
  ended_ = true;
  wake_all(wakes);
}

void LocalLatest::wake_all(WakeList& wakes) {
  for (Listener* follower : followers_) {
    follower->armed = true;  // has_newer() looks without the lock, so every change is told
    wakes.add(*follower);
  }
}

std::unique_ptr<RawLatestPublisher> LocalLatest::open_publisher(Waker& /*waker*/) {
  const std::lock_guard lock(mutex_);
  ++publishers_;
  ended_ = false;
  return std::make_unique<Publisher>(shared_from_this());
}

std::unique_ptr<RawLatestFollower> LocalLatest::open_follower(Waker& waker) {
  return std::make_unique<Follower>(shared_from_this(), waker);
}

}  // namespace sluice
