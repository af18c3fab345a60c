#include "actors/checkpoint_collection.h"

#include <algorithm>

namespace sluice {

void CheckpointCollection::add(size_t loop, const std::string& name, Result<Snapshots> part) {
  if (!missing_[loop]) return;
  missing_[loop] = false;
  if (!part.ok()) return fail(fmt::format("worker {}: {}", name, part.status().message()));
  for (auto& [worker, snapshot] : *part) {
    if (!all_.emplace(worker, std::move(snapshot)).second) {
      fail(fmt::format("two workers are named '{}'", worker));
    }
  }
}

bool CheckpointCollection::complete() const {
  return std::find(missing_.begin(), missing_.end(), true) == missing_.end();
}

void CheckpointCollection::fail(std::string failure) {
  if (failure_.empty()) failure_ = std::move(failure);
}

}  // namespace sluice
