#pragma once
#include "dataflow/base/mutex.h"
#include "dataflow/base/waker.h"

#include <cstddef>
#include <deque>
#include <iterator>
#include <utility>
#include <vector>

namespace sluice {

/// A bounded queue from any number of threads to one, whose Waker it wakes: how threads that are no
/// workers of a graph hand things to each other. Full policy: try_put() refuses. Nothing blocks
/// (but for the short lock); the reader waits on its Waker, which several mailboxes may share.
///
///   Mailbox<Job> jobs(64, waker);
///   if (!jobs.try_put(job)) ..;                  // any thread; `job` is untouched
///   const auto seen = waker.epoch();             // the reader
///   if (!jobs.try_take(job)) waker.wait(seen, deadline);
template <class T>
class Mailbox {
 public:
  Mailbox(size_t capacity, Waker& reader) : capacity_(capacity), reader_(reader) {}
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  /// False leaves `item` as it was: the mailbox is full or closed.
  [[nodiscard]] bool try_put(T& item) {
    {
      const MutexLock lock(mutex_);
      if (closed_ || items_.size() >= capacity_) return false;
      items_.push_back(std::move(item));
    }
    reader_.wake();
    return true;
  }
  [[nodiscard]] bool try_put(T&& item) { return try_put(item); }

  /// The oldest item; false when there is none.
  [[nodiscard]] bool try_take(T& out) {
    const MutexLock lock(mutex_);
    if (items_.empty()) return false;
    out = std::move(items_.front());
    items_.pop_front();
    return true;
  }

  /// All items, in order.
  [[nodiscard]] std::vector<T> take_all() {
    std::deque<T> items;
    {
      const MutexLock lock(mutex_);
      items.swap(items_);
    }
    return {std::make_move_iterator(items.begin()), std::make_move_iterator(items.end())};
  }

  /// Nothing is taken in any more; what is held can still be taken out.
  void close() {
    {
      const MutexLock lock(mutex_);
      closed_ = true;
    }
    reader_.wake();
  }
  [[nodiscard]] bool closed() const {
    const MutexLock lock(mutex_);
    return closed_;
  }
  [[nodiscard]] size_t size() const {
    const MutexLock lock(mutex_);
    return items_.size();
  }

 private:
  const size_t capacity_;
  Waker& reader_;
  mutable Mutex mutex_;
  std::deque<T> items_ SLUICE_GUARDED_BY(mutex_);
  bool closed_ SLUICE_GUARDED_BY(mutex_) = false;
};

}  // namespace sluice
