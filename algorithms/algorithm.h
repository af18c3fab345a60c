#pragma once
#include "algorithms/tensor_map.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

/// What a loss gives back.
struct Loss {
  at::Tensor total;                                   ///< scalar with a gradient
  std::vector<std::pair<std::string, double>> stats;  ///< means over the minibatch, for reports
};

// [algorithm]
/// A learning rule that users plug in. Rows lie first in every tensor. A batch has the columns of
/// the rollout ("obs", "action", "log_prob", "value", "advantage", "return", ..); the outputs of
/// the network are "logits" or "mean" and "log_std", and "value". Called from one thread.
class Algorithm {
 public:
  virtual ~Algorithm() = default;
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;

  /// Once per batch, before minibatches are drawn: adds or changes columns. Nothing by default.
  virtual void prepare(TensorMap& batch) { (void)batch; }

  /// The loss of one minibatch, already averaged.
  [[nodiscard]] virtual Loss loss(const TensorMap& outputs, const TensorMap& minibatch) = 0;
};
// [/algorithm]

}  // namespace sluice
