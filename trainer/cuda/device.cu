#include "trainer/cuda/abi.h"
#include "trainer/cuda/axpy.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>

namespace {

constexpr size_t kErrorBytes = sizeof(SluiceCudaDevice::error);

/// Device memory that frees itself.
class DeviceFloats {
 public:
  DeviceFloats() = default;
  DeviceFloats(const DeviceFloats&) = delete;
  DeviceFloats& operator=(const DeviceFloats&) = delete;
  ~DeviceFloats() {
    if (data_ != nullptr) cudaFree(data_);
  }
  cudaError_t allocate(size_t bytes) { return cudaMalloc(&data_, bytes); }
  [[nodiscard]] float* get() const { return data_; }

 private:
  float* data_ = nullptr;
};

/// A stream of this call's own: the default stream would wait for everybody else's work.
class Stream {
 public:
  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }
  cudaError_t create() { return cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking); }
  [[nodiscard]] cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

cudaError_t axpy(int64_t n, float a, const float* x, float* y) {
  if (n == 0) return cudaSuccess;
  const size_t bytes = static_cast<size_t>(n) * sizeof(float);
  // Memory outlives the stream: destroyed in reverse order.
  DeviceFloats device_x, device_y;
  Stream stream;
  cudaError_t e = cudaSetDevice(0);
  if (e == cudaSuccess) e = stream.create();
  if (e == cudaSuccess) e = device_x.allocate(bytes);
  if (e == cudaSuccess) e = device_y.allocate(bytes);
  const auto copy = [&](float* to, const float* from, cudaMemcpyKind kind) {
    if (e == cudaSuccess) e = cudaMemcpyAsync(to, from, bytes, kind, stream.get());
  };
  copy(device_x.get(), x, cudaMemcpyHostToDevice);
  copy(device_y.get(), y, cudaMemcpyHostToDevice);
  if (e == cudaSuccess) {
    const auto blocks = static_cast<unsigned>(std::min<int64_t>((n + 255) / 256, 1024));
    sluice::cuda::axpy_kernel<<<blocks, 256, 0, stream.get()>>>(n, a, device_x.get(),
                                                                device_y.get());
    e = cudaGetLastError();
  }
  copy(y, device_y.get(), cudaMemcpyDeviceToHost);
  return e == cudaSuccess ? cudaStreamSynchronize(stream.get()) : e;
}

}  // namespace

extern "C" int sluice_cuda_probe(SluiceCudaDevice* out) {
  *out = {};
  int count = 0;
  cudaDeviceProp properties{};
  cudaError_t e = cudaGetDeviceCount(&count);
  if (e == cudaSuccess && count == 0) e = cudaErrorNoDevice;
  if (e == cudaSuccess) e = cudaGetDeviceProperties(&properties, 0);
  if (e != cudaSuccess) {
    std::snprintf(out->error, kErrorBytes, "%s", cudaGetErrorString(e));
    return 1;
  }
  std::snprintf(out->name, sizeof(out->name), "%s", properties.name);
  out->count = count;
  out->major = properties.major;
  out->minor = properties.minor;
  out->memory_bytes = static_cast<int64_t>(properties.totalGlobalMem);
  return 0;
}

extern "C" int sluice_cuda_axpy(int64_t n, float a, const float* x, float* y, char* error) {
  const cudaError_t e = axpy(n, a, x, y);
  if (e == cudaSuccess) return 0;
  std::snprintf(error, kErrorBytes, "%s", cudaGetErrorString(e));
  return 1;
}
