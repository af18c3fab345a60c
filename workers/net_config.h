#pragma once
#include "dataflow/base/config.h"
#include "envs/env.h"
#include "models/nets/spec.h"

#include <cstdint>
#include <vector>

namespace sluice {

/// A small actor-critic for one environment, apart from the sizes, which the environment gives.
struct NetConfig {
  std::vector<int64_t> hidden = {64, 64};
  Activation activation = Activation::Tanh;
  double initial_log_std = 0;           ///< Box actions only
  bool normalise_observations = false;  ///< running mean and variance, part of every weight version

  void bind(ConfigBinder& b);
};

/// The network for an environment. InvalidArgument when it does not fit one: more than one
/// observation tensor, observations that are not float32, an action of another kind.
Result<ActorCriticSpec> actor_critic_spec(const EnvSpec& env, const NetConfig& net);

/// The parameters of such a network as a weights channel carries them.
Schema weights_schema(const ActorCriticSpec& spec);

}  // namespace sluice
