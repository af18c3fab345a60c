#pragma once

namespace sluice {

class Waker;

/// Counts Ctrl-C (SIGINT), SIGTERM and the end of the terminal (SIGHUP, unless nohup has it
/// ignored) while it lives and wakes `waker` for each. A reader of our output that goes away
/// (SIGPIPE) must not end a run and is ignored. One at a time.
class SignalWatch {
 public:
  explicit SignalWatch(Waker& waker);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  [[nodiscard]] int count() const noexcept;
};

}  // namespace sluice
