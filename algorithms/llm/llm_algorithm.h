#pragma once
#include "algorithms/llm/policy_loss_config.h"
#include "algorithms/llm/token_advantages.h"
#include "algorithms/llm/value_loss.h"
#include "algorithms/ops/shaping.h"

#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// One named algorithm of post-training by reinforcement: how rewards become advantages, and
/// advantages a loss. Everything is a setting; a name is a row of defaults.
struct LlmAlgorithm {
  std::string name = "grpo";
  AdvantageConfig advantage;
  PolicyLossConfig policy;
  ValueLossConfig value;          ///< read when needs_critic()
  int64_t group_size = 8;         ///< samples per prompt
  int64_t max_length = 0;         ///< constant length of seq-mean-token-sum-norm; 0: response limit
  bool dynamic_sampling = false;  ///< drop groups without a gradient and sample more
  bool mask_truncated = false;    ///< do not train on responses cut at the limit
  int64_t overlong_buffer = 0;    ///< tokens before the limit in which the reward falls; 0 = off
  double overlong_factor = 1;     ///< by how much at the limit

  void bind(ConfigBinder& b);
  /// All problems, one a line.
  [[nodiscard]] Status check() const;

  [[nodiscard]] bool needs_critic() const noexcept;
  [[nodiscard]] bool needs_reference() const noexcept;
  [[nodiscard]] bool needs_greedy_sample() const noexcept;
  [[nodiscard]] bool needs_behaviour() const noexcept;
  [[nodiscard]] bool needs_entropy() const noexcept;
};

/// The defaults of a named algorithm; unknown names are refused with the nearest known ones.
[[nodiscard]] Result<LlmAlgorithm> algorithm_preset(std::string_view name);
[[nodiscard]] std::vector<std::string> algorithm_names();

}  // namespace sluice
