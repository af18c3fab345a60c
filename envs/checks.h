#pragma once
#include "envs/env.h"

#include <cstdint>
#include <string_view>

namespace sluice {

/// InvalidArgument with every fault of a spec at once: no or double names, empty shapes, no
/// actions, bounds in the wrong order, too many observation tensors.
Status check_spec(const EnvSpec& spec);

/// The failures every environment shares, so that they read alike. Call them on the cold path only.
Status no_episode(std::string_view env);
Status bad_discrete_action(std::string_view env, int64_t action, int64_t n);
Status bad_box_action(std::string_view env, int64_t element, float value);

}  // namespace sluice
