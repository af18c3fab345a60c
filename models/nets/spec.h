#pragma once
#include "dataflow/base/result.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

/// What follows a hidden layer.
enum class Activation : uint8_t { Tanh, Relu };

/// Name and shape of every parameter tensor, in the order in which they lie in a flat buffer.
using ParameterLayout = std::vector<std::pair<std::string, std::vector<int64_t>>>;

/// A fully connected network. Its parameters are, layer by layer, weight [in, out] and bias [out]:
/// y = x weight + bias, so the weight is the transpose of LibTorch's Linear.
struct MlpSpec {
  int64_t inputs = 0;
  std::vector<int64_t> hidden = {64, 64};  ///< 1 to 8 layers of 1 to 4096 units
  int64_t outputs = 0;
  Activation activation = Activation::Tanh;  ///< of the hidden layers; the output is linear

  [[nodiscard]] int64_t layers() const noexcept { return static_cast<int64_t>(hidden.size()) + 1; }
  /// Inputs of layer `i`, and its outputs.
  [[nodiscard]] int64_t in(int64_t i) const noexcept;
  [[nodiscard]] int64_t out(int64_t i) const noexcept { return in(i + 1); }
  [[nodiscard]] int64_t parameters() const noexcept;
  /// Appends "PREFIX.I.weight" and "PREFIX.I.bias" of every layer.
  void layout(const std::string& prefix, ParameterLayout& out) const;
  [[nodiscard]] Status check() const;
  friend bool operator==(const MlpSpec&, const MlpSpec&) = default;
};

/// How the actor's output becomes an action distribution.
struct Head {
  enum class Kind : uint8_t { Categorical, Gaussian };
  Kind kind = Kind::Categorical;
  int64_t size = 0;           ///< number of choices, or dimensions of the action
  float initial_log_std = 0;  ///< Gaussian: the same for every state, one parameter per dimension

  static Head categorical(int64_t choices) { return {Kind::Categorical, choices, 0}; }
  static Head gaussian(int64_t dims, float log_std = 0) { return {Kind::Gaussian, dims, log_std}; }
  [[nodiscard]] bool discrete() const noexcept { return kind == Kind::Categorical; }
  friend bool operator==(const Head&, const Head&) = default;
};

/// Separate actor and critic trunks of the same shape.
struct ActorCriticSpec {
  int64_t observation = 0;  ///< floats per observation
  std::vector<int64_t> hidden = {64, 64};
  Head head;
  Activation activation = Activation::Tanh;

  [[nodiscard]] MlpSpec actor() const { return {observation, hidden, head.size, activation}; }
  [[nodiscard]] MlpSpec critic() const { return {observation, hidden, 1, activation}; }
  /// actor.0.weight, actor.0.bias, .., log_std (Gaussian only), critic.0.weight, ..
  [[nodiscard]] ParameterLayout layout() const;
  [[nodiscard]] Status check() const;
  friend bool operator==(const ActorCriticSpec&, const ActorCriticSpec&) = default;
};

}  // namespace sluice
