#pragma once
#include "dataflow/base/config.h"

#include <cstdint>

namespace sluice {

/// How the learning rate falls after the warm-up.
enum class LrShape : uint8_t {
  Constant,
  Linear,  ///< in a straight line to the floor
  Cosine,  ///< half a cosine to the floor (Loshchilov and Hutter, arXiv 1608.03983)
  Wsd,     ///< warm-up, stable, decay (Hu et al., arXiv 2404.06395): flat, then a straight line
};

/// The learning rate of every step, in units of the peak: a pure function.
///
/// With w = warmup_steps and n = total_steps, step t (the first is 0) has
///   (t + 1) / w                                            while t < w
///   1                                                      Constant
///   f + (1 - f) (1 - p),  p = (t - w) / (n - w)            Linear
///   f + (1 - f) (1 + cos(pi p)) / 2                        Cosine
///   1 while t < n - d, then f + (1 - f) (n - t) / d        Wsd, d = decay_share * n
/// with f = floor. Steps at and after n have f (Constant: 1). w steps of warm-up end at the peak.
struct LrSchedule {
  LrShape shape = LrShape::Constant;
  int64_t warmup_steps = 0;
  int64_t total_steps = 0;   ///< needed by every shape but Constant
  double floor = 0;          ///< share of the peak that is left at the end
  double decay_share = 0.1;  ///< of all steps, at their end (Wsd)

  [[nodiscard]] double factor(int64_t step) const noexcept;

  void bind(ConfigBinder& b);
  /// What bounds on single values cannot say.
  [[nodiscard]] Status check() const;
};

}  // namespace sluice
