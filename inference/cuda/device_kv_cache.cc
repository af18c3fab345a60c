#include "inference/cuda/device_kv_cache.h"

#include <ATen/ATen.h>
#include <c10/core/StreamGuard.h>

#include <vector>

namespace sluice {

DeviceKvCache::DeviceKvCache(const TransformerConfig& config, int32_t blocks, int32_t block_size,
                             KvFormat format, std::shared_ptr<const DeviceBackend> backend)
    : PagedKvCache(config, blocks + 1, block_size, format, backend->device()),
      backend_(std::move(backend)),
      spare_(blocks) {}

void DeviceKvCache::copy(std::span<const BlockCopy> copies) {
  if (copies.empty()) return;
  const c10::OptionalStreamGuard guard(backend_->stream());
  std::vector<int64_t> from;
  std::vector<int64_t> to;
  for (const BlockCopy& copy : copies) {
    from.push_back(copy.from);
    to.push_back(copy.to);
  }
  const at::Tensor sources = at::tensor(from, at::kLong).to(backend_->device());
  const at::Tensor targets = at::tensor(to, at::kLong).to(backend_->device());
  for (int64_t i = 0; i < layers(); ++i) {
    if (!keys(i).defined()) continue;
    keys(i).index_copy_(0, targets, keys(i).index_select(0, sources));
    values(i).index_copy_(0, targets, values(i).index_select(0, sources));
  }
}

}  // namespace sluice
