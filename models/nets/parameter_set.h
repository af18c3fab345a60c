#pragma once
#include "models/nets/spec.h"

#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Named float32 tensors in one contiguous, 64-byte aligned buffer, in a fixed order. Used for the
/// parameters of a network, and with the same layout for its gradients. Moving keeps the buffer;
/// copying is explicit (clone). One writer at a time; views see every write.
class ParameterSet {
 public:
  struct Entry {
    std::string name;
    std::vector<int64_t> shape;
    int64_t offset = 0;  ///< floats before it
    int64_t elements = 0;
  };

  ParameterSet() = default;
  /// All zero.
  explicit ParameterSet(const ParameterLayout& layout);
  ParameterSet(ParameterSet&&) = default;
  ParameterSet& operator=(ParameterSet&&) = default;
  ParameterSet(const ParameterSet&) = delete;
  ParameterSet& operator=(const ParameterSet&) = delete;

  [[nodiscard]] ParameterSet clone() const;
  /// The same layout, all zero.
  [[nodiscard]] ParameterSet zeros_like() const;

  [[nodiscard]] const std::vector<Entry>& entries() const noexcept { return entries_; }
  [[nodiscard]] int64_t size() const noexcept { return size_; }
  [[nodiscard]] float* data() noexcept { return data_; }
  [[nodiscard]] const float* data() const noexcept { return data_; }
  /// Start of one tensor; the name must exist.
  [[nodiscard]] float* data(std::string_view name) { return data_ + find(name).offset; }
  [[nodiscard]] const float* data(std::string_view name) const { return data_ + find(name).offset; }
  [[nodiscard]] const Entry& find(std::string_view name) const;

  /// The whole buffer as one tensor [size], and one tensor by name; both share the storage.
  [[nodiscard]] const at::Tensor& flat() const noexcept { return flat_; }
  [[nodiscard]] at::Tensor view(std::string_view name) const;
  [[nodiscard]] at::Tensor view(const Entry& entry) const;
  /// Views of all entries, in order.
  [[nodiscard]] std::vector<at::Tensor> views() const;

  /// Overwrites all values.
  void assign(const float* values);

 private:
  std::vector<Entry> entries_;
  int64_t size_ = 0;
  at::Tensor flat_;
  float* data_ = nullptr;
};

}  // namespace sluice
