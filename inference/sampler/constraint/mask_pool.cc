#include "inference/sampler/constraint/mask_pool.h"

#include <algorithm>

namespace sluice {

std::shared_ptr<ConstraintMasks> MaskPool::masks(
    const std::shared_ptr<const Constraint>& constraint, std::span<const int64_t> stop_ids) {
  std::erase_if(all_, [](const auto& entry) { return entry.expired(); });
  std::shared_ptr<ConstraintMasks> found;
  for (const auto& entry : all_) {
    auto masks = entry.lock();
    if (masks->constraint() != constraint || !std::ranges::equal(masks->stop_ids(), stop_ids)) {
      continue;
    }
    found = std::move(masks);
    break;
  }
  if (!found) {
    found = std::make_shared<ConstraintMasks>(constraint, trie_, stop_ids);
    all_.emplace_back(found);
  }
  std::erase(kept_, found);
  kept_.push_back(found);
  if (kept_.size() > kKept) kept_.pop_front();
  return found;
}

size_t MaskPool::size() const {
  return static_cast<size_t>(
      std::ranges::count_if(all_, [](const auto& entry) { return !entry.expired(); }));
}

}  // namespace sluice
