#pragma once
#include "models/io/chat/runtime.h"

#include <nlohmann/json_fwd.hpp>

namespace sluice::jinja {

/// `json` as a value of the template language. Its texts are not copied: it outlives the runtime.
/// Failed when it is nested too deep or a number needs more than 64 bits.
[[nodiscard]] Value from_json(Runtime& rt, const nlohmann::ordered_json& json);

}  // namespace sluice::jinja
