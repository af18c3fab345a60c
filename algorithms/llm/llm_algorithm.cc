#include "algorithms/llm/llm_algorithm.h"

namespace sluice {

void LlmAlgorithm::bind(ConfigBinder& b) {
  b.section("advantage", advantage);
  b.section("policy", policy);
  b.section("value", value);
  b.field("group_size", group_size, "samples per prompt", Range::between(1, 4096));
  b.field("max_length", max_length,
          "constant length that seq-mean-token-sum-norm divides by; 0 = the response limit",
          Range::at_least(0));
  b.field("dynamic_sampling", dynamic_sampling,
          "drop groups whose rewards are all equal and sample more");
  b.field("mask_truncated", mask_truncated, "do not train on responses cut at the limit");
  b.field("overlong_buffer", overlong_buffer,
          "tokens before the response limit in which the reward falls; 0 = off",
          Range::at_least(0));
  b.field("overlong_factor", overlong_factor, "what is taken off the reward at the limit",
          Range::at_least(0));
}

bool LlmAlgorithm::needs_critic() const noexcept { return advantage.rule == AdvantageRule::Gae; }
bool LlmAlgorithm::needs_reference() const noexcept {
  return advantage.kl_coef > 0 || policy.kl_coef > 0;
}
bool LlmAlgorithm::needs_greedy_sample() const noexcept {
  return advantage.rule == AdvantageRule::ReMax;
}
bool LlmAlgorithm::needs_behaviour() const noexcept {
  return policy.correction.rule != CorrectionRule::None || policy.correction.geometric_high > 0 ||
         policy.loss == PolicyLoss::Dppo;
}
bool LlmAlgorithm::needs_entropy() const noexcept { return policy.entropy_coef != 0; }

Status LlmAlgorithm::check() const {
  std::string problems = policy.check().message();
  const auto problem = [&](const std::string& text) {
    problems += (problems.empty() ? "" : "\n") + text;
  };
  if (compares_samples(advantage.rule) && group_size < 2) {
    problem(fmt::format("group_size = {}: {} compares the samples of a prompt and needs 2 or more",
                        group_size, name));
  }
  if (advantage.kl_coef > 0 && policy.kl_coef > 0) {
    problem(
        fmt::format("advantage.kl_coef = {} and policy.kl_coef = {}: KL belongs in the reward "
                    "or in the loss, not in both",
                    advantage.kl_coef, policy.kl_coef));
  }
  if (advantage.kl_target > 0 && advantage.kl_coef == 0) {
    problem(fmt::format("advantage.kl_target = {} steers advantage.kl_coef, which is 0",
                        advantage.kl_target));
  }
  if (dynamic_sampling && !compares_samples(advantage.rule)) {
    problem(
        fmt::format("dynamic_sampling drops groups of equal rewards, which {} trains on", name));
  }
  return problems.empty() ? Status{} : Status{Code::InvalidArgument, problems};
}

}  // namespace sluice
