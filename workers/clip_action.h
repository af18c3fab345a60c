#pragma once
#include "envs/env.h"

#include <vector>

namespace sluice {

/// What an environment is given for an action a policy chose: box actions clipped to the box,
/// anything else as it is. The stored action stays as drawn, so that its log probability fits.
/// `scratch` holds the clipped copy until the next call.
inline const void* clip_action(const ActionSpec& spec, const void* action,
                               std::vector<float>& scratch) {
  if (spec.kind == ActionSpec::Kind::Discrete) return action;
  const auto n = static_cast<size_t>(spec.tensor().elements());
  scratch.resize(n);
  const auto* in = static_cast<const float*>(action);
  for (size_t i = 0; i < n; ++i) {
    scratch[i] = in[i] < spec.low ? spec.low : in[i] > spec.high ? spec.high : in[i];
  }
  return scratch.data();
}

}  // namespace sluice
