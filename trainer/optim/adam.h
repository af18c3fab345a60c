#pragma once
#include "dataflow/base/aligned.h"
#include "dataflow/base/cpu.h"
#include "dataflow/base/result.h"

#include <cstdint>
#include <vector>

namespace sluice {

/// Settings of Adam (Kingma and Ba, ICLR 2015) with decoupled weight decay (AdamW, Loshchilov and
/// Hutter, ICLR 2019).
struct AdamConfig {
  double beta1 = 0.9;       ///< [0, 1)
  double beta2 = 0.999;     ///< [0, 1)
  double eps = 1e-5;        ///< > 0; added to the root of the corrected second moment
  double weight_decay = 0;  ///< >= 0; 0 is plain Adam
};

/// The optimizer's state, for checkpoints.
struct AdamState {
  int64_t step = 0;
  std::vector<float> m;
  std::vector<float> v;
};

/// Euclidean norm of a gradient, summed in double in a fixed order.
[[nodiscard]] double global_norm(const float* gradient, int64_t n) noexcept;

/// The factor that brings a gradient of norm `norm` down to `max_norm`; 1 when it is below, or when
/// max_norm is 0 (no clipping).
[[nodiscard]] double clip_factor(double norm, double max_norm) noexcept;

/// What a step works on, `count` numbers each.
struct AdamBuffers {
  int64_t count = 0;
  float* parameters = nullptr;
  const float* gradient = nullptr;
  float* m = nullptr;
  float* v = nullptr;
};
/// Step number `step` (the first is 1) with `gradient * scale`, in one pass over memory of the
/// caller's; each number depends on its own alone, so a buffer may be worked off in parts of whole
/// cache lines.
void adam_step(const AdamConfig& config, int64_t step, double learning_rate, double scale,
               const AdamBuffers& buffers, Isa isa = active_isa());

/// Adam on one flat buffer of parameters; one pass per step. One caller at a time.
class Adam {
 public:
  explicit Adam(int64_t parameters, const AdamConfig& config = {}, Isa isa = active_isa());

  /// One step with `gradient * scale` (scale folds in clipping or averaging).
  void step(float* parameters, const float* gradient, double learning_rate, double scale = 1.0);

  [[nodiscard]] int64_t steps() const noexcept { return step_; }
  [[nodiscard]] AdamState save() const;
  /// Refuses a state of another size.
  Status load(const AdamState& state);

 private:
  AdamConfig config_;
  Isa isa_;
  int64_t step_ = 0;
  AlignedFloats m_;
  AlignedFloats v_;
};

namespace internal {
/// What one pass needs, all corrections folded in.
struct AdamPass {
  float beta1, one_minus_beta1, beta2, one_minus_beta2;
  float scale;         ///< of the gradient
  float step_size;     ///< learning rate / (1 - beta1^t)
  float inverse_root;  ///< 1 / sqrt(1 - beta2^t)
  float eps;
  float decay;  ///< 1 - learning rate * weight decay
};
using AdamKernel = void (*)(const AdamPass&, int64_t n, float* p, const float* g, float* m,
                            float* v);
extern const AdamKernel kAdamPlain, kAdamAvx2, kAdamAvx512;
}  // namespace internal

}  // namespace sluice
