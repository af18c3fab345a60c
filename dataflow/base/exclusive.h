#pragma once
#include "dataflow/base/mutex.h"

#include <utility>

namespace sluice {

/// A value that one thread at a time may use: for libraries that are not thread-safe.
///
///   static Exclusive<Library> library;
///   library.use([&](Library& it) { return it.compute(x); });
template <class T>
class Exclusive {
 public:
  template <class... A>
  explicit Exclusive(A&&... arguments) : value_(std::forward<A>(arguments)...) {}

  /// Runs `f(value)` while no other thread does; calls that wait for each other must be short. `f`
  /// does not call use() again.
  template <class F>
  decltype(auto) use(F&& f) {
    const MutexLock lock(mutex_);
    return std::forward<F>(f)(value_);
  }

 private:
  Mutex mutex_;
  T value_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice
