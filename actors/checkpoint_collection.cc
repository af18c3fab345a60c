#include "actors/checkpoint_collection.h"

namespace sluice {

void CheckpointCollection::add(const std::string& loop, Result<Snapshots> part) {
  if (missing_ > 0) --missing_;
  if (!part.ok()) return fail(fmt::format("worker {}: {}", loop, part.status().message()));
  for (auto& [worker, snapshot] : *part) {
    if (!all_.emplace(worker, std::move(snapshot)).second) {
      fail(fmt::format("two workers are named '{}'", worker));
    }
  }
}

void CheckpointCollection::fail(std::string failure) {
  if (failure_.empty()) failure_ = std::move(failure);
}

}  // namespace sluice
