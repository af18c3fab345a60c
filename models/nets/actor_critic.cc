#include "models/nets/actor_critic.h"

#include "models/nets/init.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace sluice {
namespace {

void forward_trunk(const Mlp& mlp, const float* x, int64_t rows, MlpScratch& scratch, float* out) {
  const int64_t inputs = mlp.spec().inputs;
  const int64_t outputs = mlp.spec().outputs;
  for (int64_t first = 0; first < rows; first += Mlp::kBlockRows) {
    const int64_t count = std::min(Mlp::kBlockRows, rows - first);
    mlp.forward_block(x + first * inputs, inputs, count, scratch);
    for (int64_t r = 0; r < count; ++r) {
      const float* from = scratch.output() + r * scratch.output_stride();
      for (int64_t j = 0; j < outputs; ++j) *out++ = from[j];
    }
  }
}

at::Tensor mlp_autograd(const MlpSpec& spec, at::Tensor x, const at::Tensor* parameters) {
  for (int64_t i = 0; i < spec.layers(); ++i) {
    x = at::addmm(parameters[2 * i + 1], x, parameters[2 * i]);
    if (i + 1 < spec.layers()) x = spec.activation == Activation::Tanh ? x.tanh() : x.relu();
  }
  return x;
}

}  // namespace

ActorCriticScratch::ActorCriticScratch(const ActorCritic& net)
    : actor(net.actor()), critic(net.critic()) {}

ActorCritic::ActorCritic(const ActorCriticSpec& spec, RandomKey init, Isa isa)
    : spec_(spec),
      isa_(isa),
      parameters_(spec.layout()),
      actor_(spec.actor(), isa),
      critic_(spec.critic(), isa) {
  initialise_mlp(spec.actor(), "actor", 0.01, init, parameters_);
  initialise_mlp(spec.critic(), "critic", 1.0, init, parameters_);
  critic_offset_ = parameters_.find("critic.0.weight").offset;
  if (!spec.head.discrete()) {
    log_std_offset_ = parameters_.find("log_std").offset;
    std::fill_n(parameters_.data() + log_std_offset_, spec.head.size, spec.head.initial_log_std);
  }
  sync();
}

void ActorCritic::sync() {
  sync_actor();
  sync_critic();
}

void ActorCritic::load(const float* values) {
  parameters_.assign(values);
  sync();
}

void ActorCritic::forward(const float* observations, int64_t rows, ActorCriticScratch& scratch,
                          float* head, float* value) const {
  if (head != nullptr) forward_trunk(actor_, observations, rows, scratch.actor, head);
  if (value != nullptr) forward_trunk(critic_, observations, rows, scratch.critic, value);
}

ActorCriticOutputs ActorCritic::forward_autograd(const ActorCriticSpec& spec,
                                                 const at::Tensor& observations,
                                                 const std::vector<at::Tensor>& parameters) {
  ActorCriticOutputs out;
  const auto trunk = static_cast<size_t>(2 * spec.actor().layers());
  const size_t critic = spec.head.discrete() ? trunk : trunk + 1;
  SLUICE_CHECK(parameters.size() == critic + trunk) << parameters.size();
  out.head = mlp_autograd(spec.actor(), observations, parameters.data());
  if (!spec.head.discrete()) out.log_std = parameters[trunk];
  out.value = mlp_autograd(spec.critic(), observations, parameters.data() + critic).squeeze(1);
  return out;
}

}  // namespace sluice
