#pragma once
#include "dataflow/base/ids.h"
#include "dataflow/base/result.h"
#include "dataflow/types/payload.h"

#include <memory>
#include <utility>

namespace sluice {

/// A value and the version it is.
struct AnyVersioned {
  std::shared_ptr<const void> value;
  VersionTag tag;
};

/// The publisher's end of a latest-value channel. Used by one thread. close() is a clean end;
/// destruction without close() is a lost peer: it is counted, and another may go on.
class RawLatestPublisher {
 public:
  virtual ~RawLatestPublisher() = default;
  /// FailedPrecondition when `tag` is not newer than what was published: nobody is led backwards.
  virtual Status publish(std::shared_ptr<const void> value, const VersionTag& tag) = 0;
  virtual void close() = 0;
};

/// A follower's end. Used by one thread; the loop is woken when a newer value arrives. Destruction
/// without close() is a lost peer: it is counted.
class RawLatestFollower {
 public:
  virtual ~RawLatestFollower() = default;
  /// The newest value; value is null before the first.
  virtual AnyVersioned current() = 0;
  /// Cheap check (one atomic load): is there something newer than `tag`?
  [[nodiscard]] virtual bool has_newer(const VersionTag& tag) const = 0;
  [[nodiscard]] virtual bool ended() const = 0;
  /// No wake-ups from here on.
  virtual void close() = 0;
};

template <class T>
struct Versioned {
  std::shared_ptr<const T> value;
  VersionTag tag;
};

template <class T>
class LatestPublisher {
 public:
  LatestPublisher() = default;
  explicit LatestPublisher(std::unique_ptr<RawLatestPublisher> raw) : raw_(std::move(raw)) {}
  Status publish(std::shared_ptr<const T> value, const VersionTag& tag) {
    return raw_->publish(std::move(value), tag);
  }
  void close() { raw_->close(); }
  explicit operator bool() const { return raw_ != nullptr; }

 private:
  std::unique_ptr<RawLatestPublisher> raw_;
};

template <class T>
class LatestFollower {
 public:
  LatestFollower() = default;
  explicit LatestFollower(std::unique_ptr<RawLatestFollower> raw) : raw_(std::move(raw)) {}
  Versioned<T> current() {
    AnyVersioned any = raw_->current();
    return {std::static_pointer_cast<const T>(std::move(any.value)), any.tag};
  }
  [[nodiscard]] bool has_newer(const VersionTag& tag) const { return raw_->has_newer(tag); }
  [[nodiscard]] bool ended() const { return raw_->ended(); }
  void close() { raw_->close(); }
  explicit operator bool() const { return raw_ != nullptr; }

 private:
  std::unique_ptr<RawLatestFollower> raw_;
};

}  // namespace sluice
