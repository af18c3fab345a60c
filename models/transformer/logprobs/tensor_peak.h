#pragma once
#include <cstdint>
#include <memory>

namespace sluice {

/// Bytes of tensors on the CPU that this thread allocates while it lives, by the allocator's own
/// reports: exact and repeatable, unlike a process's resident size. What BLAS keeps for itself is
/// not in it. One at a time on a thread.
class TensorPeak {
 public:
  TensorPeak();
  ~TensorPeak();
  TensorPeak(const TensorPeak&) = delete;
  TensorPeak& operator=(const TensorPeak&) = delete;

  /// The most that was held at once, above what was held at the start.
  [[nodiscard]] int64_t bytes() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice
