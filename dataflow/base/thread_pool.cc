#include "dataflow/base/thread_pool.h"

#include "dataflow/base/result.h"

namespace sluice {

ThreadPool::ThreadPool(int threads, int spin) : spin_(spin) {
  SLUICE_CHECK(threads >= 1) << "a pool needs at least one thread, got " << threads;
  helpers_.reserve(static_cast<size_t>(threads - 1));
  for (int i = 1; i < threads; ++i) helpers_.emplace_back([this, i] { loop(i); });
}

ThreadPool::~ThreadPool() {
  {
    const MutexLock lock(mutex_);
    stop_.store(true);
  }
  start_.notify_all();
  for (auto& helper : helpers_) helper.join();
}

void ThreadPool::work(int thread) const {
  for (int64_t i = thread; i < tasks_; i += threads()) call_(context_, i, thread);
}

void ThreadPool::run(int64_t tasks, Call call, const void* context) {
  call_ = call;
  context_ = context;
  tasks_ = tasks;
  if (helpers_.empty() || tasks <= 1) {
    work(0);
    return;
  }
  running_.store(static_cast<int>(helpers_.size()), std::memory_order_relaxed);
  bool wake = false;
  {
    const MutexLock lock(mutex_);
    job_.fetch_add(1, std::memory_order_release);
    wake = parked_ > 0;
  }
  if (wake) start_.notify_all();
  work(0);
  for (int i = 0; i < spin_; ++i) {
    if (running_.load(std::memory_order_acquire) == 0) return;
    relax();
  }
  MutexLock lock(mutex_);
  waiting_ = true;
  done_.wait(mutex_, [this] { return running_.load(std::memory_order_acquire) == 0; });
  waiting_ = false;
}

void ThreadPool::loop(int thread) {
  uint64_t seen = 0;
  while (true) {
    bool ready = false;
    for (int i = 0; i < spin_ && !ready; ++i) {
      ready = job_.load(std::memory_order_acquire) != seen || stop_.load(std::memory_order_relaxed);
      if (!ready) relax();
    }
    if (!ready) {
      MutexLock lock(mutex_);
      ++parked_;
      start_.wait(mutex_,
                  [&] { return job_.load(std::memory_order_acquire) != seen || stop_.load(); });
      --parked_;
    }
    if (stop_.load()) return;
    ++seen;
    work(thread);
    if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      const MutexLock lock(mutex_);
      if (waiting_) done_.notify_one();
    }
  }
}

}  // namespace sluice
