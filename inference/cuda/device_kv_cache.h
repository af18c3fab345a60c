#pragma once
#include "inference/cuda/device_backend.h"
#include "inference/cuda/step_inputs.h"

#include <memory>

namespace sluice {

/// An engine's keys and values on a device, with one block more than the engine knows of: the spare
/// one, for sequences that only fill a batch. The cache of DeviceAttentionOp. One thread.
class DeviceKvCache : public PagedKvCache {
 public:
  DeviceKvCache(const TransformerConfig& config, int32_t blocks, int32_t block_size,
                KvFormat format, std::shared_ptr<const DeviceBackend> backend);

  void copy(std::span<const BlockCopy> copies) override;

  /// What the next forward reads; on the device.
  void use(StepInputs inputs) { inputs_ = std::move(inputs); }
  [[nodiscard]] const StepInputs& inputs() const noexcept { return inputs_; }
  [[nodiscard]] const DeviceBackend& backend() const noexcept { return *backend_; }
  [[nodiscard]] BlockId spare() const noexcept { return spare_; }

 private:
  std::shared_ptr<const DeviceBackend> backend_;
  BlockId spare_;
  StepInputs inputs_;
};

}  // namespace sluice
