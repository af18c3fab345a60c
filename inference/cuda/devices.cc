#include "inference/cuda/devices.h"

#include "dataflow/base/shared_library.h"
#include "inference/cuda/cuda_backend.h"

#include <array>
#include <charconv>

namespace sluice {

Result<at::Device> parse_device(std::string_view text) {
  if (text == "cpu") return at::Device(at::kCPU);
  if (text == "cuda") return at::Device(at::kCUDA, 0);
  constexpr std::string_view kPrefix = "cuda:";
  if (text.starts_with(kPrefix)) {
    const std::string_view number = text.substr(kPrefix.size());
    int8_t index = -1;  // at::DeviceIndex
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), index);
    if (error == std::errc() && end == number.data() + number.size() && index >= 0) {
      return at::Device(at::kCUDA, index);
    }
  }
  return invalid_argument("'{}' is no device: cpu, cuda or cuda:N", text);
}

Result<std::shared_ptr<const DeviceBackend>> load_cuda_backend(int index) {
  const auto places =
      SharedLibrary::places("libsluice_inference_cuda.so", "SLUICE_INFERENCE_CUDA_LIBRARY");
  const auto library = SharedLibrary::open(places);
  if (!library.ok()) {
    return error(Code::Unavailable,
                 "no CUDA (build with a CUDA toolkit, run scripts/setup.sh --cuda): {}",
                 library.status().message());
  }
  void* found = library->symbol("sluice_cuda_backend_v1");
  if (found == nullptr) {
    return error(Code::FailedPrecondition, "{} is not the GPU library of this version",
                 library->path());
  }
  std::unique_ptr<DeviceBackend> backend;
  std::array<char, 512> why{};
  reinterpret_cast<decltype(&sluice_cuda_backend_v1)>(found)(index, &backend, why.data(),
                                                             why.size());
  if (backend == nullptr) return error(Code::Unavailable, "{}", std::string(why.data()));
  return std::shared_ptr<const DeviceBackend>(std::move(backend));
}

Result<std::shared_ptr<DeviceExecutor>> make_executor(std::string_view device,
                                                      DeviceOptions options) {
  ASSIGN_OR_RETURN(const at::Device parsed, parse_device(device));
  if (parsed.is_cpu()) return std::shared_ptr<DeviceExecutor>();
  ASSIGN_OR_RETURN(auto backend, load_cuda_backend(parsed.index()));
  return std::make_shared<DeviceExecutor>(std::move(backend), options);
}

}  // namespace sluice
