#pragma once
#include "dataflow/base/random.h"
#include "models/nets/mlp.h"
#include "models/nets/parameter_set.h"

namespace sluice {

class ActorCritic;

/// What one thread needs to run an ActorCritic; made once, nothing is allocated afterwards.
struct ActorCriticScratch {
  explicit ActorCriticScratch(const ActorCritic& net);
  MlpScratch actor;
  MlpScratch critic;
};

/// What the autograd twin returns; undefined where it does not apply.
struct ActorCriticOutputs {
  at::Tensor head;     ///< [N, head.size] logits, or means
  at::Tensor log_std;  ///< [head.size], Gaussian only
  at::Tensor value;    ///< [N]
};

/// An actor and a critic with separate trunks and their parameters. Parameters are written through
/// parameters() (one writer, no forward running), then sync() hands them to the kernels.
///
///   ActorCritic net(spec, RandomKey(seed).split("init"));
///   ActorCriticScratch scratch(net);
///   net.forward(obs, rows, scratch, logits, values);
class ActorCritic {
 public:
  /// Orthogonal weights (Saxe et al., ICLR 2014): gain sqrt(2) in hidden layers, 0.01 in the policy
  /// head, 1 in the value head; zero biases. The same key gives the same bits. The spec must pass
  /// check().
  ActorCritic(const ActorCriticSpec& spec, RandomKey init, Isa isa = active_isa());

  [[nodiscard]] const ActorCriticSpec& spec() const noexcept { return spec_; }
  [[nodiscard]] ParameterSet& parameters() noexcept { return parameters_; }
  [[nodiscard]] const ParameterSet& parameters() const noexcept { return parameters_; }
  /// Repacks the parameters for the kernels; call after every change.
  void sync();
  /// The two halves of sync(), which may run at the same time.
  void sync_actor() { actor_.pack(parameters_.data()); }
  void sync_critic() { critic_.pack(parameters_.data() + critic_offset_); }
  /// Overwrites all parameters (parameters().size() floats in order) and syncs.
  void load(const float* values);

  /// observations [rows, spec.observation] -> head [rows, head.size] (logits or means) and value
  /// [rows]. Any number of rows; a row's result does not depend on the others. `head` or `value`
  /// may be null, then that trunk is not run. Many threads at once, each with its own scratch.
  void forward(const float* observations, int64_t rows, ActorCriticScratch& scratch, float* head,
               float* value) const;

  /// The same network by ATen operations with gradients: the checked reference, and what custom
  /// losses use. `parameters` are parameters().views() or copies that require gradients.
  static ActorCriticOutputs forward_autograd(const ActorCriticSpec& spec,
                                             const at::Tensor& observations,
                                             const std::vector<at::Tensor>& parameters);

  [[nodiscard]] Isa isa() const noexcept { return isa_; }
  [[nodiscard]] const Mlp& actor() const noexcept { return actor_; }
  [[nodiscard]] const Mlp& critic() const noexcept { return critic_; }
  /// Floats before the critic's parameters, and before log_std (-1 when there is none).
  [[nodiscard]] int64_t critic_offset() const noexcept { return critic_offset_; }
  [[nodiscard]] int64_t log_std_offset() const noexcept { return log_std_offset_; }
  /// log_std [head.size], or null for a categorical head.
  [[nodiscard]] const float* log_std() const noexcept {
    return log_std_offset_ < 0 ? nullptr : parameters_.data() + log_std_offset_;
  }

 private:
  ActorCriticSpec spec_;
  Isa isa_;
  ParameterSet parameters_;
  Mlp actor_;
  Mlp critic_;
  int64_t critic_offset_ = 0;
  int64_t log_std_offset_ = -1;
};

}  // namespace sluice
