#include "dataflow/types/weights.h"

#include <ATen/ATen.h>

namespace sluice {

uint64_t Weights::digest() const {
  std::vector<uint64_t> parts;
  for (const auto& [name, tensor] : tensors) {
    const at::Tensor t = tensor.contiguous();
    parts.push_back(sluice::digest(name.data(), name.size()));
    const auto sizes = t.sizes();
    parts.push_back(sluice::digest(sizes.data(), sizes.size() * sizeof(int64_t)));
    parts.push_back(sluice::digest(t.data_ptr(), t.nbytes()));
  }
  return sluice::digest(parts.data(), parts.size() * sizeof(uint64_t));
}

at::Tensor Weights::find(std::string_view name) const {
  for (const auto& [key, tensor] : tensors) {
    if (key == name) return tensor;
  }
  return {};
}

}  // namespace sluice
