#pragma once
#include "inference/kernels/linear_kernels.h"

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

namespace sluice {

[[nodiscard]] std::string_view name(WeightFormat format) noexcept;

/// The weights of one or more linear layers of the same input, packed for LinearKernels: the
/// layers' outputs stand side by side. The layout is fixed at construction; pack() may be called
/// again with new numbers.
class PackedMatrix {
 public:
  static constexpr int64_t kGroup = 128;  ///< inputs that share a factor in Int8

  /// Layers of `outputs` outputs each. Any format but Rows. Starts as zeros.
  PackedMatrix(WeightFormat format, const std::vector<int64_t>& outputs, int64_t in,
               int64_t group = kGroup);

  /// Packs panels [begin, end) of layer `layer` from its weight, fp32 [outputs, in] contiguous.
  /// Disjoint ranges may be packed at once.
  void pack(int64_t layer, const float* weight, int64_t begin, int64_t end);
  /// All of a layer.
  void pack(int64_t layer, const float* weight) { pack(layer, weight, 0, panels(layer)); }

  /// What the kernels read: all layers side by side, or one alone.
  [[nodiscard]] LinearWeights view() const noexcept;
  [[nodiscard]] LinearWeights view(int64_t layer) const noexcept;
  [[nodiscard]] int64_t layers() const noexcept { return static_cast<int64_t>(first_.size()) - 1; }
  [[nodiscard]] int64_t first_panel(int64_t layer) const {
    return first_[static_cast<size_t>(layer)];
  }
  [[nodiscard]] int64_t panels(int64_t layer) const {
    return first_panel(layer + 1) - first_panel(layer);
  }
  [[nodiscard]] int64_t panels() const noexcept { return first_.back(); }
  /// Column of a layer's first output among all; of layers(): their number.
  [[nodiscard]] int64_t column(int64_t layer) const { return column_[static_cast<size_t>(layer)]; }
  [[nodiscard]] int64_t in() const noexcept { return in_; }
  [[nodiscard]] WeightFormat format() const noexcept { return format_; }
  /// What a product with all of it reads.
  [[nodiscard]] int64_t bytes() const noexcept;

 private:
  struct Free {
    void operator()(std::byte* p) const noexcept;
  };
  void pack_int8(const float* rows, int64_t count, int64_t panel);

  WeightFormat format_;
  int64_t in_;
  int64_t group_;
  int64_t panel_stride_ = 0;    ///< elements
  std::vector<int64_t> first_;  ///< layers + 1 panel numbers
  std::vector<int64_t> column_;
  std::vector<LinearPanel> panels_;      ///< columns among all
  std::vector<LinearPanel> own_panels_;  ///< columns of the layer alone
  std::unique_ptr<std::byte, Free> data_;
  std::vector<float> factors_;
};

/// Panels of a matrix [outputs, ..] that is not packed.
[[nodiscard]] std::vector<LinearPanel> panels_of(int64_t outputs);

}  // namespace sluice
