#include "trainer/cuda/device.h"

#include "dataflow/base/shared_library.h"
#include "trainer/cuda/abi.h"

#include <array>
#include <vector>

namespace sluice {

Result<CudaLibrary> CudaLibrary::load(const std::string& path) {
  const auto places = path.empty()
                          ? SharedLibrary::places("libsluice_cuda.so", "SLUICE_CUDA_LIBRARY")
                          : std::vector<std::string>{path};
  const auto library = SharedLibrary::open(places);
  if (!library.ok()) {
    return error(Code::Unavailable, "no GPU library; build with a CUDA toolkit (preset cuda): {}",
                 library.status().message());
  }
  CudaLibrary own;
  own.probe_ = library->symbol("sluice_cuda_probe");
  own.axpy_ = library->symbol("sluice_cuda_axpy");
  if (own.probe_ == nullptr || own.axpy_ == nullptr) {
    return error(Code::FailedPrecondition, "{} is not the GPU library of this version",
                 library->path());
  }
  return own;
}

Result<DeviceInfo> CudaLibrary::probe() const {
  SluiceCudaDevice device{};
  if (reinterpret_cast<decltype(&sluice_cuda_probe)>(probe_)(&device) != 0) {
    return error(Code::Unavailable, "no usable GPU: {}", std::string(device.error));
  }
  return DeviceInfo{device.name, device.count, device.major, device.minor, device.memory_bytes};
}

Status CudaLibrary::axpy(float a, std::span<const float> x, std::span<float> y) const {
  if (x.size() != y.size()) {
    return invalid_argument("axpy: x has {} elements and y has {}", x.size(), y.size());
  }
  std::array<char, sizeof(SluiceCudaDevice::error)> why{};
  const auto call = reinterpret_cast<decltype(&sluice_cuda_axpy)>(axpy_);
  if (call(static_cast<int64_t>(x.size()), a, x.data(), y.data(), why.data()) != 0) {
    return error(Code::Unavailable, "axpy: {}", std::string(why.data()));
  }
  return {};
}

}  // namespace sluice
