#pragma once
#include "models/transformer/lora/lora_config.h"
#include "models/transformer/ops.h"

#include <span>
#include <string>
#include <vector>

namespace sluice {

/// A linear layer of a model as adapters see it.
struct LoraLayer {
  Linear linear;
  bool head = false;  ///< the last layer: logits, score
  bool tied = false;  ///< its weight is also the embedding's
};

/// What a config asks of one layer.
struct LoraTarget {
  size_t layer = 0;  ///< index among the layers
  int64_t rank = 0;
  double scale = 0;
};

/// What a config asks of a model.
struct LoraTargets {
  std::vector<LoraTarget> adapters;
  std::vector<size_t> saved;  ///< layers of modules_to_save
};

/// Whether every name of a config must be one of the model's, or, as in PEFT, any.
enum class NamesMust : uint8_t { AllExist, SomeExist };

/// The layers that a config picks, in the order given. NotFound names a module that the model has
/// not and the nearest it has; Unimplemented when an adapter is asked for the head (it is not
/// called through LinearOp where log-probs are made; modules_to_save takes an untied one) or when a
/// tied head is to be saved.
Result<LoraTargets> select_targets(const LoraConfig& config, std::span<const LoraLayer> layers,
                                   NamesMust names);

}  // namespace sluice
