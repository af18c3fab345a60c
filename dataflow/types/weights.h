#pragma once
#include "dataflow/base/ids.h"

#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

/// One version of a policy's weights: named tensors, immutable once published. Whoever publishes
/// stamps the tag with digest(); whoever installs them may check it.
struct Weights {
  static constexpr std::string_view kPayloadName = "Weights";

  VersionTag tag;
  std::vector<std::pair<std::string, at::Tensor>> tensors;

  /// Hash over names, shapes and bytes of all tensors, in order.
  [[nodiscard]] uint64_t digest() const;
  /// The tensor of that name, or an undefined tensor.
  [[nodiscard]] at::Tensor find(std::string_view name) const;
};

}  // namespace sluice
