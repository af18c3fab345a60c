#pragma once
#include "dataflow/base/result.h"

#include <cstdint>
#include <span>
#include <string>

namespace sluice {

/// The first GPU of this machine.
struct DeviceInfo {
  std::string name;
  int32_t count = 0;
  int32_t major = 0;
  int32_t minor = 0;
  int64_t memory_bytes = 0;
};

/// Handle of the shared library sluice_cuda, which holds all GPU code and is loaded at run time:
/// a program starts, and every CPU path works, without it. Any thread; the library stays loaded
/// until the process ends.
///
///   auto library = CudaLibrary::load();
///   if (library.ok()) { auto device = library->probe(); ... }
class CudaLibrary {
 public:
  /// Loads `path`, or without one: $SLUICE_CUDA_LIBRARY, libsluice_cuda.so beside the program,
  /// then in ../lib. Unavailable when there is none, with every place that was tried.
  static Result<CudaLibrary> load(const std::string& path = {});

  /// Unavailable when the machine has no device or no driver.
  [[nodiscard]] Result<DeviceInfo> probe() const;

  /// y = a * x + y on the device; x and y must be equally long. Proves that kernels run.
  [[nodiscard]] Status axpy(float a, std::span<const float> x, std::span<float> y) const;

 private:
  CudaLibrary() = default;

  void* probe_ = nullptr;
  void* axpy_ = nullptr;
};

}  // namespace sluice
