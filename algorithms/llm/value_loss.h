#pragma once
#include "algorithms/ops/aggregate.h"
#include "dataflow/base/config.h"

namespace sluice {

/// The critic's loss per token (Schulman et al., 2017; clipping as in OpenAI baselines' PPO2):
///   max((V - R)^2, (clip(V, V_old - clip, V_old + clip) - R)^2) / 2.
struct ValueLossConfig {
  double clip = 0.2;  ///< range of the value's change; 0 = off
  double coef = 1;    ///< weight of the loss
  bool half = true;   ///< peers without the half have twice the loss
  Aggregation aggregation = Aggregation::TokenMean;

  void bind(ConfigBinder& b);
};

struct ValueBatch {
  at::Tensor value;      ///< [T] with gradient
  at::Tensor old_value;  ///< [T]; may be undefined when clip is 0
  at::Tensor returns;    ///< [T]
  at::Tensor mask;       ///< bool [T] or undefined
  at::Tensor sequence;   ///< int64 [T]
};

/// Sums over tokens; see PolicyStats.
struct ValueStats {
  double tokens = 0;
  double value_loss = 0;  ///< part of the total
  double clipped = 0;     ///< tokens where the clipped error is the larger one
  double error = 0;       ///< sum of (V - R)^2
  double returns = 0;
  double returns_square = 0;

  void add(const ValueStats& other) noexcept;
  /// 1 - mean (V - R)^2 / var R; 0 where the returns do not vary.
  [[nodiscard]] double explained_variance() const noexcept;
};

struct ValueLoss {
  at::Tensor total;  ///< scalar with gradient, coef times the loss, already divided
  ValueStats stats;
};

[[nodiscard]] ValueLoss value_loss(const ValueLossConfig& config, const ValueBatch& batch,
                                   const Denominator& denominator);

}  // namespace sluice
