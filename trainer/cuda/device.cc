#include "trainer/cuda/device.h"

#include "trainer/cuda/abi.h"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <vector>

namespace sluice {
namespace {

constexpr const char* kFile = "libsluice_cuda.so";

/// Folder of the running program, with a slash at its end; empty when the system does not say.
std::string program_folder() {
  std::array<char, 4096> buffer{};
  const ssize_t size = readlink("/proc/self/exe", buffer.data(), buffer.size());
  if (size <= 0) return {};
  const std::string path(buffer.data(), static_cast<size_t>(size));
  return path.substr(0, path.rfind('/') + 1);
}

std::vector<std::string> candidates(const std::string& path) {
  if (!path.empty()) return {path};
  if (const char* set = std::getenv("SLUICE_CUDA_LIBRARY"); set != nullptr && *set != '\0') {
    return {set};
  }
  const std::string folder = program_folder();
  return {folder + kFile, folder + "../lib/" + kFile};
}

}  // namespace

Result<CudaLibrary> CudaLibrary::load(const std::string& path) {
  std::string tried;
  for (const std::string& candidate : candidates(path)) {
    void* handle = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      tried += fmt::format("\n  {}", dlerror());
      continue;
    }
    CudaLibrary library;
    library.probe_ = dlsym(handle, "sluice_cuda_probe");
    library.axpy_ = dlsym(handle, "sluice_cuda_axpy");
    if (library.probe_ == nullptr || library.axpy_ == nullptr) {
      return error(Code::FailedPrecondition, "{} is not the GPU library of this version",
                   candidate);
    }
    return library;
  }
  return error(Code::Unavailable,
               "no GPU library; build with a CUDA toolkit (preset cuda). Tried:{}", tried);
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
