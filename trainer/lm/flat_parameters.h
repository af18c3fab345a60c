#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

/// A tensor to be trained.
struct Trained {
  std::string name;
  at::Tensor tensor;   ///< a leaf
  std::string group;   ///< neighbours of one group stay end to end; empty: alone
  bool decays = true;  ///< whether weight decay is for it
};

/// The trained tensors of a model, moved into one flat fp32 buffer, and their gradients in another:
/// each tensor becomes a leaf over its part of the buffer (whoever holds the tensor sees the
/// change), and its grad() is the same part of the gradients. What decays comes first. Parts start
/// at 64-byte boundaries, unless they belong to a group; what lies between is zero and stays so.
class FlatParameters {
 public:
  struct Entry {
    std::string name;
    at::Tensor tensor;
    int64_t offset = 0;  ///< of its first number in the flat buffers
  };

  explicit FlatParameters(const std::vector<Trained>& trained);

  [[nodiscard]] const std::vector<Entry>& entries() const noexcept { return entries_; }
  /// Numbers in each buffer, padding included.
  [[nodiscard]] int64_t size() const noexcept { return values_.numel(); }
  /// Weight decay is for the numbers [0, decayed()).
  [[nodiscard]] int64_t decayed() const noexcept { return decayed_; }
  /// Numbers without padding.
  [[nodiscard]] int64_t count() const noexcept { return count_; }
  [[nodiscard]] float* values() const;
  [[nodiscard]] float* gradients() const;
  /// A buffer laid out as these, zeros.
  [[nodiscard]] at::Tensor zeros() const;
  /// The part of `flat` that belongs to an entry, in its shape.
  [[nodiscard]] static at::Tensor part(const at::Tensor& flat, const Entry& entry);
  void zero_gradients() const;

 private:
  std::vector<Entry> entries_;
  at::Tensor values_;
  at::Tensor gradients_;
  int64_t decayed_ = 0;
  int64_t count_ = 0;
};

}  // namespace sluice
