#pragma once
#include "dataflow/base/random.h"
#include "models/transformer/lora/lora_targets.h"

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

/// Low-rank addition to one linear layer: W + scale B A (arXiv 2106.09685).
struct LoraAdapter {
  at::Tensor a;  ///< [rank, in]
  at::Tensor b;  ///< [out, rank]
  double scale = 0;
};

/// The adapters of a model. The tensors are plain leaves: the trainer takes them from parameters(),
/// asks for their gradients with requires_grad(), and steps them in place. Copies share them.
///
///   ASSIGN_OR_RETURN(LoraSet lora, LoraSet::create(config, layers, RandomKey(seed)));
///   lora.requires_grad(true);
///   LoraOp linear(plain_linear, lora);  // what the model calls for every projection
class LoraSet {
 public:
  struct Parameter {
    std::string name;
    at::Tensor tensor;
  };
  using Parameters = std::vector<Parameter>;
  /// Gives the tensor of a name, or undefined.
  using Source = std::function<at::Tensor(const std::string& name)>;

  /// New adapters: A uniform in +-1/sqrt(in) (Kaiming with slope sqrt(5)), each from its own stream
  /// of `key`, B zero, so that the model is unchanged at first; modules_to_save are copies.
  static Result<LoraSet> create(const LoraConfig& config, std::span<const LoraLayer> layers,
                                RandomKey key, at::ScalarType dtype = at::kFloat);
  /// Adapters whose tensors are `stored` under the names of parameters(). InvalidArgument names a
  /// missing half of a pair, both shapes that do not fit, and a tensor that no layer takes.
  static Result<LoraSet> from_tensors(const LoraConfig& config, std::span<const LoraLayer> layers,
                                      const Parameters& stored, at::ScalarType dtype = at::kFloat);

  [[nodiscard]] const LoraConfig& config() const noexcept { return config_; }
  /// Null when the layer has none.
  [[nodiscard]] const LoraAdapter* find(const std::string& layer) const;
  [[nodiscard]] const std::map<std::string, LoraAdapter>& adapters() const noexcept {
    return adapters_;
  }
  [[nodiscard]] const std::map<std::string, Linear>& saved() const noexcept { return saved_; }
  /// The layer itself, or what modules_to_save keeps instead of it. Whoever multiplies by a layer
  /// without LoraOp (the head, when log-probs are made) asks here first.
  [[nodiscard]] const Linear& resolve(const Linear& layer) const;

  /// All tensors, named as in PEFT's files: "base_model.model.<layer>.lora_A.weight". Sorted.
  [[nodiscard]] Parameters parameters() const;
  void requires_grad(bool wanted);

 private:
  LoraConfig config_;
  std::map<std::string, LoraAdapter> adapters_;
  std::map<std::string, Linear> saved_;
};

}  // namespace sluice
