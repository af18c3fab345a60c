#include "apps/run/signals.h"

#include "dataflow/base/waker.h"

#include <array>
#include <atomic>
#include <csignal>

namespace sluice {
namespace {

std::atomic<int> caught{0};
std::atomic<Waker*> watcher{nullptr};
constexpr std::array kCounted{SIGINT, SIGTERM, SIGHUP};
std::array<struct sigaction, kCounted.size()> before;
struct sigaction before_pipe;

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
  for (size_t i = 0; i < kCounted.size(); ++i) {
    sigaction(kCounted[i], nullptr, &before[i]);
    if (kCounted[i] == SIGHUP && before[i].sa_handler == SIG_IGN) continue;
    sigaction(kCounted[i], &action, nullptr);
  }
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, &before_pipe);
}

SignalWatch::~SignalWatch() {
  for (size_t i = 0; i < kCounted.size(); ++i) sigaction(kCounted[i], &before[i], nullptr);
  sigaction(SIGPIPE, &before_pipe, nullptr);
  watcher = nullptr;
}

int SignalWatch::count() const noexcept { return caught.load(); }

}  // namespace sluice
