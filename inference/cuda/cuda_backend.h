#pragma once
#include "inference/cuda/device_backend.h"

#include <cstddef>
#include <memory>

/// What the shared library sluice_inference_cuda exports: the CUDA backend of device `index`. Built
/// with the program, by the same compiler. On failure null with the reason in `why` [size].
extern "C" void sluice_cuda_backend_v1(int index, std::unique_ptr<sluice::DeviceBackend>* out,
                                       char* why, size_t size);
