#pragma once
#include "inference/cuda/device_backend.h"

namespace sluice {

/// A backend out of LibTorch's operations, by definition and slowly: what the CUDA kernels are
/// compared with, on their device, and what stands in for them where there is none. Its graphs only
/// run their work again. Any thread.
class PlainBackend : public DeviceBackend {
 public:
  explicit PlainBackend(at::Device device = at::kCPU) : device_(device) {}

  [[nodiscard]] at::Device device() const override { return device_; }
  [[nodiscard]] std::optional<c10::Stream> stream() const override { return std::nullopt; }
  void store(const at::Tensor& k, const at::Tensor& v, const at::Tensor& slots,
             const at::Tensor& keys, const at::Tensor& values) const override;
  [[nodiscard]] at::Tensor attend(const AttentionSpec& spec, const at::Tensor& q,
                                  const PagedRows& rows) const override;
  [[nodiscard]] std::unique_ptr<DeviceGraph> make_graph() const override;

 private:
  at::Device device_;
};

}  // namespace sluice
