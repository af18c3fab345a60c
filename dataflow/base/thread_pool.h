#pragma once
#include "dataflow/base/mutex.h"

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace sluice {

/// A small pool for data-parallel loops: run() splits `tasks` in a fixed way (task i goes to thread
/// i % threads), the caller works as thread 0, and returns when all are done. Helpers spin for a
/// short while after a job, then park, so that an idle pool costs nothing. One caller at a time;
/// tasks must not throw and must not call run() of the same pool.
///
///   ThreadPool pool(2);
///   pool.run(chunks, [&](int64_t chunk, int thread) { ... });
class ThreadPool {
 public:
  /// `threads` counts the caller: 1 makes no helper. `spin` is how many pauses a helper waits
  /// before it parks.
  explicit ThreadPool(int threads, int spin = 2000);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] int threads() const noexcept { return static_cast<int>(helpers_.size()) + 1; }

  /// Calls task(i, thread) once for every i in [0, tasks).
  template <class F>
  void run(int64_t tasks, const F& task) {
    const Call call = [](const void* context, int64_t i, int thread) {
      (*static_cast<const F*>(context))(i, thread);
    };
    run(tasks, call, &task);
  }

 private:
  using Call = void (*)(const void* context, int64_t task, int thread);
  void run(int64_t tasks, Call call, const void* context);
  void work(int thread) const;
  void loop(int thread);

  const int spin_;
  Call call_ = nullptr;
  const void* context_ = nullptr;
  int64_t tasks_ = 0;
  std::atomic<uint64_t> job_{0};  ///< number of the newest job; publishes the fields above
  std::atomic<int> running_{0};
  std::atomic<bool> stop_{false};
  Mutex mutex_;
  CondVar start_;
  CondVar done_;
  int parked_ SLUICE_GUARDED_BY(mutex_) = 0;
  bool waiting_ SLUICE_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> helpers_;
};

}  // namespace sluice
