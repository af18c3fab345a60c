#include "workers/net_config.h"

#include "models/nets/actor_critic.h"

namespace sluice {

void NetConfig::bind(ConfigBinder& b) {
  b.field("hidden", hidden, "units of the hidden layers of actor and critic",
          Range::between(1, 4096));
  b.field("activation", activation, "what follows a hidden layer",
          {{"tanh", Activation::Tanh}, {"relu", Activation::Relu}});
  b.field("initial_log_std", initial_log_std, "log standard deviation of box actions at the start",
          Range::between(-10, 5));
  b.field("normalise_observations", normalise_observations,
          "scale observations by their running mean and variance");
}

Result<ActorCriticSpec> actor_critic_spec(const EnvSpec& env, const NetConfig& net) {
  if (env.observation.size() != 1 || env.observation.fields()[0].dtype != DType::F32) {
    return invalid_argument(
        "environment '{}' observes {}, but a multi-layer perceptron needs one float32 tensor",
        env.name, env.observation.to_string());
  }
  ActorCriticSpec spec;
  spec.observation = env.observation.fields()[0].elements();
  spec.hidden = net.hidden;
  spec.activation = net.activation;
  spec.head =
      env.action.kind == ActionSpec::Kind::Discrete
          ? Head::categorical(env.action.n)
          : Head::gaussian(env.action.tensor().elements(), static_cast<float>(net.initial_log_std));
  RETURN_IF_ERROR(spec.check().with_context(fmt::format("network for environment '{}'", env.name)));
  return spec;
}

Schema weights_schema(const ActorCriticSpec& spec) {
  Schema out;
  const ActorCritic net(spec, RandomKey(0));
  for (const auto& entry : net.parameters().entries()) {
    out.add({entry.name, DType::F32, entry.shape});
  }
  return out;
}

}  // namespace sluice
