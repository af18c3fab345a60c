#pragma once
#include "dataflow/base/snapshot.h"
#include "models/transformer/parameters.h"

#include <string>
#include <vector>

namespace sluice {

/// A language model as a trainer's checkpoint holds it: what it was trained from, and its weights.
struct SavedModel {
  std::string base;                        ///< LmTrainer::model
  std::vector<Parameters::Entry> weights;  ///< fp32, under the names of the base's checkpoint

  /// Whether the state of a worker holds one.
  [[nodiscard]] static bool in(const Snapshot& worker);
  /// NotFound when there is none, or the base is gone; DataLoss when they do not fit together.
  static Result<SavedModel> load(const Snapshot& worker);
};

}  // namespace sluice
