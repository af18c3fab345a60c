#pragma once
#include "dataflow/base/result.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sluice {

/// A choice of modules as PEFT writes it: names (whole, or the end of one after a dot), or one
/// pattern that must match a whole name. Names count when both are there.
struct ModuleChoice {
  std::vector<std::string> names;
  std::string pattern;

  [[nodiscard]] bool empty() const noexcept { return names.empty() && pattern.empty(); }
  bool operator==(const ModuleChoice&) const = default;
};

/// What a set of LoRA adapters is (arXiv 2106.09685): y + scale B A x, A [rank, in], B [out, rank].
struct LoraConfig {
  static constexpr const char* kAllLinear = "all-linear";

  int64_t rank = 8;
  double alpha = 8;
  /// scale = alpha / sqrt(rank) (arXiv 2312.03732) instead of alpha / rank.
  bool rslora = false;
  /// Kept for the file's sake; not applied in training.
  double dropout = 0;
  /// pattern kAllLinear: every linear layer but the head.
  ModuleChoice targets;
  ModuleChoice excluded;
  /// When not empty, only layers of these indices; with names only.
  std::vector<int64_t> layers;
  /// Rank and alpha of the modules that a key matches: a pattern for the end of a name after a dot.
  /// The first key in alphabetical order counts.
  std::map<std::string, int64_t> rank_pattern;
  std::map<std::string, double> alpha_pattern;
  /// Linear layers that are trained and saved whole.
  std::vector<std::string> modules_to_save;

  // Notes that PEFT keeps with an adapter.
  std::string base_model;
  std::string task_type = "CAUSAL_LM";
  bool fan_in_fan_out = false;

  bool operator==(const LoraConfig&) const = default;

  [[nodiscard]] double scale(int64_t of_rank, double of_alpha) const noexcept;
  /// InvalidArgument with the key when a value cannot be: rank 0, unknown pattern syntax ..
  [[nodiscard]] Status check() const;

  /// Reads adapter_config.json of PEFT (known to version 0.21). Unimplemented names an option that
  /// would change results and is not supported here, InvalidArgument a wrong value or unknown key.
  static Result<LoraConfig> from_json(const nlohmann::json& json);
  /// A config that PEFT loads.
  [[nodiscard]] nlohmann::json to_json() const;
};

}  // namespace sluice
