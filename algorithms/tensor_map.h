#pragma once
#include "dataflow/base/result.h"

#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

/// Named tensors in the order in which they were set.
class TensorMap {
 public:
  using Entry = std::pair<std::string, at::Tensor>;

  /// Adds a tensor, or replaces the one of that name.
  void set(std::string_view name, at::Tensor tensor) {
    for (Entry& entry : entries_) {
      if (entry.first == name) {
        entry.second = std::move(tensor);
        return;
      }
    }
    entries_.emplace_back(std::string(name), std::move(tensor));
  }
  [[nodiscard]] bool has(std::string_view name) const noexcept {
    for (const Entry& entry : entries_) {
      if (entry.first == name) return true;
    }
    return false;
  }
  /// The tensor of that name, which must exist.
  [[nodiscard]] const at::Tensor& at(std::string_view name) const {
    size_t i = 0;
    while (i < entries_.size() && entries_[i].first != name) ++i;
    SLUICE_CHECK(i < entries_.size()) << "no tensor '" << std::string(name) << "'";
    return entries_[i].second;
  }
  [[nodiscard]] const std::vector<Entry>& entries() const noexcept { return entries_; }

 private:
  std::vector<Entry> entries_;
};

}  // namespace sluice
