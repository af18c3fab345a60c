#include "apps/run/signals.h"

#include "dataflow/base/waker.h"

#include <atomic>
#include <csignal>

namespace sluice {
namespace {

std::atomic<int> caught{0};
std::atomic<Waker*> watcher{nullptr};
struct sigaction before_int;
struct sigaction before_term;

// Only lock-free atomics and a futex call: safe in a signal handler.
void on_signal(int) {
  caught.fetch_add(1);
  if (Waker* waker = watcher.load()) waker->wake();
}

}  // namespace

SignalWatch::SignalWatch(Waker& waker) {
  caught = 0;
  watcher = &waker;
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, &before_int);
  sigaction(SIGTERM, &action, &before_term);
}

SignalWatch::~SignalWatch() {
  sigaction(SIGINT, &before_int, nullptr);
  sigaction(SIGTERM, &before_term, nullptr);
  watcher = nullptr;
}

int SignalWatch::count() const noexcept { return caught.load(); }

}  // namespace sluice
