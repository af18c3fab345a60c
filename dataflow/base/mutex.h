#pragma once
#include "dataflow/base/relax.h"

#include <condition_variable>
#include <mutex>
#include <utility>

// What a lock guards is said in the code and checked by Clang (-Wthread-safety); other compilers
// see nothing. https://clang.llvm.org/docs/ThreadSafetyAnalysis.html
#if defined(__clang__)
#define SLUICE_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define SLUICE_THREAD_ANNOTATION(x)
#endif
#define SLUICE_CAPABILITY(name) SLUICE_THREAD_ANNOTATION(capability(name))
#define SLUICE_SCOPED_CAPABILITY SLUICE_THREAD_ANNOTATION(scoped_lockable)
#define SLUICE_GUARDED_BY(mutex) SLUICE_THREAD_ANNOTATION(guarded_by(mutex))
#define SLUICE_REQUIRES(...) SLUICE_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define SLUICE_ACQUIRE(...) SLUICE_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define SLUICE_TRY_ACQUIRE(...) SLUICE_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))
#define SLUICE_RELEASE(...) SLUICE_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define SLUICE_NO_THREAD_SAFETY_ANALYSIS SLUICE_THREAD_ANNOTATION(no_thread_safety_analysis)

namespace sluice {

/// A mutex for short sections: a thread that finds it taken spins for about a microsecond before it
/// sleeps in the kernel. Two threads that hand items to each other all the time would otherwise
/// send each other to sleep over sections of a hundred nanoseconds.
class SLUICE_CAPABILITY("mutex") Mutex {
 public:
  void lock() SLUICE_ACQUIRE() {
    for (int pauses = 1; pauses <= kLongestPause; pauses *= 2) {
      if (mutex_.try_lock()) return;
      for (int i = 0; i < pauses; ++i) relax();
    }
    mutex_.lock();
  }
  bool try_lock() SLUICE_TRY_ACQUIRE(true) { return mutex_.try_lock(); }
  void unlock() SLUICE_RELEASE() { mutex_.unlock(); }

 private:
  friend class CondVar;
  static constexpr int kLongestPause = 64;
  std::mutex mutex_;
};

/// Holds a Mutex for a scope; unlock() ends it early.
class SLUICE_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) SLUICE_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() SLUICE_RELEASE() {
    if (held_) mutex_.unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void unlock() SLUICE_RELEASE() {
    held_ = false;
    mutex_.unlock();
  }

 private:
  Mutex& mutex_;
  bool held_ = true;
};

/// Waits with a Mutex given up meanwhile.
class CondVar {
 public:
  template <class Predicate>
  void wait(Mutex& mutex, Predicate done) SLUICE_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock, std::move(done));
    lock.release();
  }
  void notify_one() noexcept { condition_.notify_one(); }
  void notify_all() noexcept { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace sluice
