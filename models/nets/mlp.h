#pragma once
#include "dataflow/base/aligned.h"
#include "models/nets/mlp_kernels.h"
#include "models/nets/spec.h"

#include <vector>

namespace sluice {

class Mlp;

/// What one thread needs to run a Mlp over a block of rows: activations, their gradients, and the
/// output. Made once per thread; nothing is allocated afterwards.
class MlpScratch {
 public:
  explicit MlpScratch(const Mlp& mlp);

  /// Outputs of the last forward_block: row r at output() + r * output_stride().
  [[nodiscard]] const float* output() const noexcept { return layers_.back().h.data(); }
  /// Where the caller writes d(loss)/d(output) before backward_block; columns beyond the outputs
  /// stay zero.
  [[nodiscard]] float* d_output() noexcept { return layers_.back().d.data(); }
  [[nodiscard]] int64_t output_stride() const noexcept { return layers_.back().stride; }

 private:
  friend class Mlp;
  struct Layer {
    int64_t stride = 0;
    AlignedFloats h;  ///< [kBlockRows, stride] outputs after the activation
    AlignedFloats d;  ///< gradient of h before the activation
  };
  std::vector<Layer> layers_;
};

/// A fully connected network on fused kernels: bias and activation are applied in registers,
/// weights lie packed in both directions. Const members may be called from many threads, each with
/// its own scratch; pack() needs them all to be quiet.
///
/// Forward results depend on a row's inputs and the weights only, bit for bit: never on how rows
/// are grouped into calls.
class Mlp {
 public:
  static constexpr int64_t kBlockRows = 96;  ///< most rows per call; keeps a layer within L1

  explicit Mlp(MlpSpec spec, Isa isa = active_isa());

  [[nodiscard]] const MlpSpec& spec() const noexcept { return spec_; }
  [[nodiscard]] const MlpKernels& kernels() const noexcept { return *kernels_; }

  /// Takes over new parameters: spec().parameters() floats in layout order.
  void pack(const float* parameters);

  /// Runs up to kBlockRows rows of spec().inputs floats each, row stride `ldx`.
  void forward_block(const float* x, int64_t ldx, int64_t rows, MlpScratch& scratch) const;

  /// Adds the gradients of the same rows, whose forward_block came last on this scratch, to
  /// `gradient` (gradient_floats(), padded layout). `x` must have padded_inputs() readable floats
  /// per row, finite beyond the inputs.
  void backward_block(const float* x, int64_t ldx, int64_t rows, MlpScratch& scratch,
                      float* gradient) const;
  [[nodiscard]] int64_t padded_inputs() const noexcept { return kernels_->pad(spec_.inputs); }

  /// Floats of a padded gradient buffer; a multiple of 16.
  [[nodiscard]] int64_t gradient_floats() const noexcept { return gradient_floats_; }
  /// Writes a padded gradient in the parameters' layout.
  void unpad_gradient(const float* padded, float* parameters) const;

 private:
  friend class MlpScratch;
  struct Layer {
    int64_t in = 0, out = 0, out_padded = 0, in_padded = 0;
    Epilogue epilogue = Epilogue::None;
    /// Packed weight [in, out_padded]; with `dots` the transpose [out, in_padded], row by row.
    AlignedFloats forward;
    bool dots = false;       ///< an output layer so narrow that padding it would cost more
    AlignedFloats backward;  ///< packed transpose [out, in_padded]; empty in the first layer
    AlignedFloats bias;      ///< [out_padded]
    /// A layer with few outputs keeps its gradient transposed, [out, in_padded]: fewer padded sums.
    bool transposed = false;
    int64_t weight_at = 0, bias_at = 0;  ///< offsets in a padded gradient
  };

  MlpSpec spec_;
  const MlpKernels* kernels_;
  std::vector<Layer> layers_;
  int64_t gradient_floats_ = 0;
};

}  // namespace sluice
