#pragma once
#include <nlohmann/json_fwd.hpp>

namespace sluice::bench {

/// config.json of SmolLM2-135M's shape. With random weights the work is the same.
[[nodiscard]] nlohmann::json smollm2_config();

}  // namespace sluice::bench
