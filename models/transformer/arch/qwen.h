#pragma once
#include "models/transformer/config.h"

#include <nlohmann/json_fwd.hpp>

namespace sluice {
class HfConfig;
}

/// What the Qwen generations share.
namespace sluice::arch {

/// use_sliding_window, sliding_window, max_window_layers and layer_types.
void read_qwen_windows(HfConfig& hf, TransformerConfig& config);
void write_qwen_windows(const TransformerConfig& config, nlohmann::json& out);

/// Experts from `num_experts` (or num_local_experts), decoder_sparse_step and mlp_only_layers.
void read_qwen_experts(HfConfig& hf, bool normalise_otherwise, TransformerConfig& config);
void write_qwen_experts(const TransformerConfig& config, nlohmann::json& out);

}  // namespace sluice::arch
