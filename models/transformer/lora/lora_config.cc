#include "models/transformer/lora/lora_config.h"

#include "models/transformer/lora/name_pattern.h"

#include <algorithm>
#include <cmath>

namespace sluice {
namespace {
constexpr int64_t kMaxRank = 1 << 16;

Status check_rank(int64_t rank, const std::string& key) {
  if (rank >= 1 && rank <= kMaxRank) return {};
  return invalid_argument("{}: a rank must be 1 to {}, not {}", key, kMaxRank, rank);
}

Status check_alpha(double alpha, const std::string& key) {
  if (std::isfinite(alpha)) return {};
  return invalid_argument("{}: alpha must be finite, not {}", key, alpha);
}

Status check_choice(const ModuleChoice& choice, const char* key) {
  for (const std::string& name : choice.names) {
    if (name.empty()) return invalid_argument("{}: an empty module name", key);
  }
  if (choice.pattern.empty() || choice.pattern == LoraConfig::kAllLinear) return {};
  return NamePattern::compile(choice.pattern).status().with_context(key);
}
}  // namespace

double LoraConfig::scale(int64_t of_rank, double of_alpha) const noexcept {
  const auto r = static_cast<double>(of_rank);
  return of_alpha / (rslora ? std::sqrt(r) : r);
}

Status LoraConfig::check() const {
  RETURN_IF_ERROR(check_rank(rank, "r"));
  RETURN_IF_ERROR(check_alpha(alpha, "lora_alpha"));
  if (!(dropout >= 0 && dropout < 1)) {
    return invalid_argument("lora_dropout: must be at least 0 and below 1, not {}", dropout);
  }
  if (targets.empty()) {
    return invalid_argument("target_modules: name modules, a pattern, or '{}'", kAllLinear);
  }
  RETURN_IF_ERROR(check_choice(targets, "target_modules"));
  RETURN_IF_ERROR(check_choice(excluded, "exclude_modules"));
  if (!layers.empty() && targets.names.empty()) {
    return invalid_argument("layers_to_transform: only with a list of target_modules");
  }
  for (const auto& [pattern, value] : rank_pattern) {
    RETURN_IF_ERROR(check_rank(value, "rank_pattern." + pattern));
    RETURN_IF_ERROR(NamePattern::compile_suffix(pattern).status().with_context("rank_pattern"));
  }
  for (const auto& [pattern, value] : alpha_pattern) {
    RETURN_IF_ERROR(check_alpha(value, "alpha_pattern." + pattern));
    RETURN_IF_ERROR(NamePattern::compile_suffix(pattern).status().with_context("alpha_pattern"));
  }
  if (std::any_of(modules_to_save.begin(), modules_to_save.end(),
                  [](const std::string& name) { return name.empty(); })) {
    return invalid_argument("modules_to_save: an empty module name");
  }
  return {};
}

}  // namespace sluice
