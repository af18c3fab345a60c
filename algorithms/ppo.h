#pragma once
#include "algorithms/algorithm.h"
#include "algorithms/ops/normalise.h"
#include "dataflow/base/config.h"
#include "dataflow/base/cpu.h"

namespace sluice {

/// Proximal policy optimisation (Schulman et al., 2017, arXiv 1707.06347).
struct PpoConfig {
  double gamma = 0.99;       ///< [0, 1] discount
  double gae_lambda = 0.95;  ///< [0, 1] GAE's mixing
  double clip = 0.2;         ///< (0, 1) range of the probability ratio, 1 - clip to 1 + clip
  double value_clip = 0;     ///< >= 0 range of the value's change; 0 = off
  double entropy_coef = 0;   ///< >= 0
  double value_coef = 0.5;   ///< >= 0
  double target_kl = 0;  ///< >= 0; epochs stop when the KL estimate passes 1.5 times it; 0 = off
  bool normalise_advantage = true;  ///< per minibatch, by the unbiased standard deviation
  int64_t epochs = 4;               ///< >= 1
  int64_t minibatches = 4;          ///< >= 1 per epoch
  double learning_rate = 3e-4;      ///< > 0
  bool anneal = false;              ///< learning rate falls linearly to 0 over the run
  double max_grad_norm = 0.5;       ///< >= 0; 0 = no clipping
  double adam_eps = 1e-5;           ///< > 0
  bool normalise_reward = false;    ///< divide rewards by the spread of the discounted return

  void bind(ConfigBinder& b);
};

/// Means over the rows seen.
struct PpoStats {
  double policy_loss = 0;
  double value_loss = 0;  ///< half the squared error, before value_coef
  double entropy = 0;
  double approx_kl = 0;        ///< k3 estimate: mean of (ratio - 1) - log(ratio)
  double clip_fraction = 0;    ///< share of ratios beyond the clip range
  double grad_norm = 0;        ///< mean over minibatches, before clipping
  int64_t minibatches = 0;     ///< updates made
  bool stopped_early = false;  ///< the KL limit ended the update
};

/// Whether the KL estimate of the last minibatch says to stop.
[[nodiscard]] bool kl_stop(const PpoConfig& config, double approx_kl) noexcept;

/// Learning rate of iteration `i` of `iterations` (counted from 0): full in the first, one
/// `iterations`-th in the last.
[[nodiscard]] double annealed_rate(const PpoConfig& config, int64_t i, int64_t iterations) noexcept;

/// The loss on tensors, with gradients, in the tensors' own precision. `outputs`: "logits" [N, A],
/// or "mean" [N, D] and "log_std" [D]; "value" [N]. `minibatch`: "action" int64 [N] or float [N,
/// D]; "log_prob", "value", "advantage", "return" [N]; optional "mask" bool [N] selects the rows
/// that count. Sums are divided once by `denominator`, the number of rows that count over all parts
/// of the minibatch (0: those of this call). total = policy - entropy_coef entropy + value_coef
/// value, with
///   policy = -min(ratio A, clamp(ratio, 1 - clip, 1 + clip) A)                          (eq. 7)
///   value  = max((V - R)^2, (V_old + clamp(V - V_old, -value_clip, value_clip) - R)^2) / 2
[[nodiscard]] Loss ppo_loss(const PpoConfig& config, const TensorMap& outputs,
                            const TensorMap& minibatch, double denominator = 0);

/// Rows for the analytic form. Strides are in floats; plain columns have one float per row.
struct PpoRows {
  int64_t rows = 0;
  int64_t size = 0;             ///< choices, or dimensions of the action
  const float* head = nullptr;  ///< [rows, size] logits or means
  int64_t head_stride = 0;
  const float* log_std = nullptr;  ///< [size]; null means categorical
  const float* value = nullptr;
  int64_t value_stride = 1;
  const float* action = nullptr;  ///< categorical: the index as a float; Gaussian: [rows, size]
  const float* old_log_prob = nullptr;
  const float* old_value = nullptr;
  const float* advantage = nullptr;
  const float* returns = nullptr;
  Moments moments;  ///< advantages are taken as (A - mean) * inverse_std
};

/// Where the gradients of the loss go. d_head and d_value are written, d_log_std is added to.
struct PpoGrads {
  float* d_head = nullptr;
  int64_t head_stride = 0;
  float* d_value = nullptr;
  int64_t value_stride = 1;
  float* d_log_std = nullptr;  ///< [size], Gaussian only
};

/// Sums over rows, not yet divided.
struct PpoSums {
  double policy = 0;
  double value = 0;
  double entropy = 0;
  double kl = 0;
  double clipped = 0;

  void add(const PpoSums& other) noexcept;
};

/// The same loss's gradient by hand, without allocation: d(total)/d(head, value, log_std), divided
/// by `denominator`, and the sums of the statistics.
PpoSums ppo_loss_grad(const PpoConfig& config, const PpoRows& rows, double denominator,
                      const PpoGrads& grads, Isa isa = active_isa());

/// PPO as an Algorithm: the autograd form. Fused learners use ppo_loss_grad with config().
class Ppo final : public Algorithm {
 public:
  explicit Ppo(const PpoConfig& config) : config_(config) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "ppo"; }
  [[nodiscard]] Loss loss(const TensorMap& outputs, const TensorMap& minibatch) override {
    return ppo_loss(config_, outputs, minibatch);
  }
  [[nodiscard]] const PpoConfig& config() const noexcept { return config_; }

 private:
  PpoConfig config_;
};

namespace internal {
struct PpoPass {
  float low, high;  ///< bounds of the ratio
  float value_clip;
  float entropy, value;  ///< coefficients over the denominator
  float weight;          ///< 1 / denominator
};
using PpoKernel = PpoSums (*)(const PpoPass&, const PpoRows&, const PpoGrads&);
extern const PpoKernel kPpoPlain, kPpoAvx2, kPpoAvx512;
}  // namespace internal

}  // namespace sluice
