#pragma once
#include "dataflow/base/mutex.h"

#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

namespace sluice {

/// Immutable values by name, for several threads, up to a total weight: the least recently used
/// make room for new ones. A value that leaves lives on with those who hold it.
///
///   if (auto found = cache.find(text)) return found;
///   auto made = compile(text);         // without a lock: two threads may both make it
///   cache.put(text, made, made->bytes());
template <class V>
class SharedCache {
 public:
  explicit SharedCache(size_t capacity) : capacity_(capacity) {}

  /// Null when it is not there.
  [[nodiscard]] std::shared_ptr<const V> find(std::string_view key) {
    const MutexLock lock(mutex_);
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return nullptr;
    order_.splice(order_.begin(), order_, found->second);
    return found->second->value;
  }

  /// Replaces what is there. What alone is heavier than the capacity is not kept.
  void put(std::string key, std::shared_ptr<const V> value, size_t weight) {
    weight += key.size();
    const MutexLock lock(mutex_);
    if (const auto found = by_key_.find(key); found != by_key_.end()) drop(found->second);
    if (weight > capacity_) return;
    while (weight_ + weight > capacity_) drop(std::prev(order_.end()));
    order_.push_front({std::move(key), std::move(value), weight});
    by_key_.emplace(order_.front().key, order_.begin());
    weight_ += weight;
  }

  [[nodiscard]] size_t size() {
    const MutexLock lock(mutex_);
    return order_.size();
  }

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<const V> value;
    size_t weight = 0;
  };
  using Order = std::list<Entry>;

  void drop(typename Order::iterator entry) SLUICE_REQUIRES(mutex_) {
    weight_ -= entry->weight;
    by_key_.erase(entry->key);
    order_.erase(entry);
  }

  const size_t capacity_;
  Mutex mutex_;
  Order order_ SLUICE_GUARDED_BY(mutex_);  ///< latest first
  std::unordered_map<std::string_view, typename Order::iterator> by_key_ SLUICE_GUARDED_BY(mutex_);
  size_t weight_ SLUICE_GUARDED_BY(mutex_) = 0;
};

}  // namespace sluice
