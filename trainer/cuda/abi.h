#pragma once
#include <cstdint>

/// The C interface of the shared library sluice_cuda. It holds no type of a framework, so that the
/// program and the library may be built by different compilers.
extern "C" {

/// What the library found out about the first device.
struct SluiceCudaDevice {
  char name[256];
  int32_t count;  ///< devices in this machine
  int32_t major;  ///< compute capability
  int32_t minor;
  int64_t memory_bytes;
  char error[256];  ///< why the call failed; empty after success
};

/// Fills `out`; 0 on success. A machine without a driver or device is a failure, not a crash.
int sluice_cuda_probe(SluiceCudaDevice* out);

/// y[i] = a * x[i] + y[i] on the first device, for `n` floats in host memory; 0 on success.
/// `error` (256 bytes) says why it failed. A self-test: it copies both ways.
int sluice_cuda_axpy(int64_t n, float a, const float* x, float* y, char* error);
}
