#pragma once
#include "dataflow/base/clock.h"
#include "dataflow/base/ids.h"
#include "dataflow/base/result.h"
#include "dataflow/policy/stream_policy.h"
#include "dataflow/types/payload.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

/// What travels beside a stream item.
struct ItemInfo {
  VersionSpan versions;  ///< policy versions that made it; invalid when none did
  int64_t writer = 0;    ///< id of the writer endpoint, unique in the stream
  int64_t sequence = 0;  ///< 0, 1, .. per writer
  TimeNs written = 0;    ///< clock when it was accepted
};

/// An item as transports see it: the payload is immutable from here on.
struct AnyItem {
  std::shared_ptr<const void> value;
  ItemInfo info;
};

/// Outcome of a write that did not fail.
enum class PutResult : uint8_t {
  Accepted,
  Full,     ///< when_full is Block: nothing was taken; try again after a wake-up
  Refused,  ///< when_full is Refuse, or too stale to be of use: counted; do not retry
  Closed,   ///< the stream has no reader any more: counted; do not retry
};

/// A writer's end of a stream, as a transport implements it. Used by one thread. close() is a clean
/// end; destruction without close() is a lost peer: unused permits go back, and it is counted.
class RawStreamWriter {
 public:
  virtual ~RawStreamWriter() = default;
  /// Takes `value` only when Accepted.
  virtual PutResult try_put(std::shared_ptr<const void>& value, const VersionSpan& versions) = 0;
  /// Asks to start `wanted` items; returns how many may be started now (0..wanted). Every granted
  /// permit is used up by one put that is not Full, or handed back with give_back(). A put
  /// without a permit passes the same gate: it is Full (or Refused) while there is no room. A
  /// stream without admission grants everything.
  virtual int64_t admit(int64_t wanted) = 0;
  virtual void give_back(int64_t permits) = 0;
  /// The reader closed: nothing will be taken or admitted any more (until one opens again).
  [[nodiscard]] virtual bool closed() const = 0;
  virtual void close() = 0;
};

/// A reader's end. Used by one thread. Several readers of one stream share its items: each read
/// goes to one of them. The loop is woken when the last request could be met (after a successful
/// one: when anything arrives) and at the end of the stream. close() is a clean end: when no reader
/// is left, what is held is dropped and counted. After destruction without close() the items wait
/// for the next reader.
class RawStreamReader {
 public:
  virtual ~RawStreamReader() = default;
  /// All or nothing: replaces `items` by exactly `n` items in the order of the sampling policy, or
  /// leaves it empty when they cannot be had yet (too few, ratio limit, below min_size; min_size
  /// does not hold back what is left once the writers closed). Items too stale are dropped and
  /// counted. Errors: OutOfRange when the stream has ended and will never have `n` more;
  /// FailedPrecondition when a stale item meets OnStale::Error; InvalidArgument when `n` can never
  /// be had (n < 1, n > capacity, or more than the ratio's tolerance allows).
  virtual Status try_take(int64_t n, std::vector<AnyItem>& items) = 0;
  /// Tells the stream which version the consumer trains now: moves admission and staleness on.
  virtual void advance(const VersionTag& current) = 0;
  /// Judges items that were taken earlier once more, right before their use: `keep` says for each
  /// whether it may still be used. The others are counted as drops, and make room for new ones.
  /// Errors: FailedPrecondition when a stale item meets OnStale::Error.
  virtual Status recheck(const std::vector<ItemInfo>& taken, std::vector<bool>& keep) = 0;
  /// All writers closed cleanly and nothing is left to take.
  [[nodiscard]] virtual bool ended() const = 0;
  /// Items that could be taken now.
  [[nodiscard]] virtual int64_t depth() const = 0;
  virtual void close() = 0;
};

/// Typed writer. Moves handles, never payload bytes (in process).
template <class T>
class StreamWriter {
 public:
  StreamWriter() = default;
  explicit StreamWriter(std::unique_ptr<RawStreamWriter> raw) : raw_(std::move(raw)) {}

  PutResult try_put(std::shared_ptr<const T>& item, const VersionSpan& versions) {
    std::shared_ptr<const void> any = std::move(item);
    const PutResult result = raw_->try_put(any, versions);
    if (any) item = std::static_pointer_cast<const T>(std::move(any));
    return result;
  }
  int64_t admit(int64_t wanted) { return raw_->admit(wanted); }
  void give_back(int64_t permits) { raw_->give_back(permits); }
  [[nodiscard]] bool closed() const { return raw_->closed(); }
  void close() { raw_->close(); }
  explicit operator bool() const { return raw_ != nullptr; }

 private:
  std::unique_ptr<RawStreamWriter> raw_;
};

/// An item and what travelled with it.
template <class T>
struct Item {
  std::shared_ptr<const T> value;
  ItemInfo info;
};

/// Typed reader.
template <class T>
class StreamReader {
 public:
  StreamReader() = default;
  explicit StreamReader(std::unique_ptr<RawStreamReader> raw) : raw_(std::move(raw)) {}

  Result<std::vector<Item<T>>> try_take(int64_t n) {
    RETURN_IF_ERROR(raw_->try_take(n, any_));
    std::vector<Item<T>> items;
    items.reserve(any_.size());
    for (auto& any : any_) {
      items.push_back({std::static_pointer_cast<const T>(std::move(any.value)), any.info});
    }
    any_.clear();
    return items;
  }
  void advance(const VersionTag& current) { raw_->advance(current); }
  /// Removes from items taken earlier those that have become too stale since.
  Status drop_stale(std::vector<Item<T>>& taken) {
    std::vector<ItemInfo> infos;
    for (const auto& item : taken) infos.push_back(item.info);
    std::vector<bool> keep;
    RETURN_IF_ERROR(raw_->recheck(infos, keep));
    size_t i = 0;
    std::erase_if(taken, [&](const Item<T>&) { return !keep[i++]; });
    return {};
  }
  [[nodiscard]] bool ended() const { return raw_->ended(); }
  [[nodiscard]] int64_t depth() const { return raw_->depth(); }
  void close() { raw_->close(); }
  explicit operator bool() const { return raw_ != nullptr; }

 private:
  std::unique_ptr<RawStreamReader> raw_;
  std::vector<AnyItem> any_;
};

}  // namespace sluice
