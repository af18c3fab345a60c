#pragma once
#include "inference/cuda/device_executor.h"

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <string_view>

namespace sluice {

/// "cpu", "cuda" (the first GPU) or "cuda:N". InvalidArgument otherwise.
Result<at::Device> parse_device(std::string_view text);

/// Loads the shared library sluice_inference_cuda, and with it LibTorch's CUDA half, from
/// $SLUICE_INFERENCE_CUDA_LIBRARY, beside the program or ../lib. Unavailable in one line, when the
/// library, the wheels it needs, a driver or the device is missing.
Result<std::shared_ptr<const DeviceBackend>> load_cuda_backend(int index);

/// For EngineOptions::executor: null for "cpu".
Result<std::shared_ptr<DeviceExecutor>> make_executor(std::string_view device,
                                                      DeviceOptions options = {});

}  // namespace sluice
