#pragma once

namespace sluice {

class Waker;

/// Counts Ctrl-C (SIGINT) and SIGTERM while it lives and wakes `waker` for each. One at a time.
class SignalWatch {
 public:
  explicit SignalWatch(Waker& waker);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  [[nodiscard]] int count() const noexcept;
};

}  // namespace sluice
