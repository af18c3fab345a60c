#pragma once
#include "models/transformer/config.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Reads the keys of a Hugging Face config.json by name and type, and keeps the first complaint
/// ("config.json: key 'hidden_size' must be an integer"), so that a reader of an architecture is a
/// list of assignments with one check at its end. A key that is null counts as absent. Keeps a
/// reference to the object.
class HfConfig {
 public:
  explicit HfConfig(const nlohmann::json& object);

  [[nodiscard]] bool has(std::string_view key) const;
  /// Not there, not even as null: for keys whose null is not their default.
  [[nodiscard]] bool absent(std::string_view key) const;
  /// Without `otherwise` the key must be there.
  int64_t integer(std::string_view key, std::optional<int64_t> otherwise = std::nullopt);
  double number(std::string_view key, std::optional<double> otherwise = std::nullopt);
  bool flag(std::string_view key, bool otherwise);
  std::string text(std::string_view key, std::optional<std::string> otherwise = std::nullopt);
  std::vector<int64_t> integers(std::string_view key);
  std::vector<std::string> texts(std::string_view key);
  MlpActivation activation(std::string_view key, std::string_view otherwise);
  /// From `rope_parameters`, or from `rope_theta` and `rope_scaling`.
  RopeConfig rope(double default_theta, int64_t max_positions, double default_partial = 1);

  void complain(std::string message);
  [[nodiscard]] const Status& status() const noexcept { return status_; }

 private:
  const nlohmann::json* find(std::string_view key) const;
  const nlohmann::json& object_;
  Status status_;
};

/// The fields that all Llama-like configs share: sizes, norm, rope, MLP, head, one LayerConfig per
/// layer. `otherwise` gives the values of absent keys; an absent head_dim is hidden / heads.
TransformerConfig read_common(HfConfig& hf, const TransformerConfig& otherwise);
/// config.layer_types ("full_attention", "sliding_attention", "linear_attention") into the layers;
/// `window` is what sliding layers see. Without the key the layers stay as they are.
void read_layer_types(HfConfig& hf, int64_t window, TransformerConfig& config);

/// The same fields as JSON, with RoPE in the form that all readers know (rope_theta, rope_scaling).
nlohmann::json write_common(const TransformerConfig& config);
nlohmann::json write_layer_types(const TransformerConfig& config);
std::string_view hf_activation(MlpActivation activation) noexcept;

}  // namespace sluice
