#pragma once
#include "dataflow/base/snapshot.h"
#include "dataflow/types/weights.h"
#include "workers/net_config.h"

#include <string>

namespace sluice {

/// A policy as a trainer's checkpoint holds it, apart from the learner's own state: enough to act
/// with it, without the recipe that made it.
struct SavedPolicy {
  std::string env;
  NetConfig net;
  Weights weights;

  void save(Snapshot& out) const;
  /// NotFound when the snapshot holds no policy, DataLoss when it does not fit together.
  static Result<SavedPolicy> load(const Snapshot& in);
};

}  // namespace sluice
