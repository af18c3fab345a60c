#include "dataflow/policy/item_table.h"

#include <cstddef>
#include <limits>
#include <utility>

namespace sluice {

ItemTable::ItemTable(int64_t capacity, int64_t reuse, std::unique_ptr<Sampler> sampler)
    : reuse_(reuse),
      sampler_(std::move(sampler)),
      order_(capacity),
      reads_(static_cast<size_t>(capacity), 0) {
  free_.reserve(static_cast<size_t>(capacity));
  for (int64_t slot = capacity; slot-- > 0;) free_.push_back(static_cast<int32_t>(slot));
}

int32_t ItemTable::insert() {
  const int32_t slot = free_.back();
  free_.pop_back();
  reads_[static_cast<size_t>(slot)] = 0;
  readable_ += reuse_;
  order_.push_back(slot);
  sampler_->add(slot);
  return slot;
}

void ItemTable::remove(int32_t slot) {
  if (reuse_ > 0) readable_ -= reuse_ - times_read(slot);
  sampler_->remove(slot);
  order_.erase(slot);
  free_.push_back(slot);
}

ItemTable::Read ItemTable::read() {
  const int32_t slot = sampler_->pick();
  int64_t& reads = reads_[static_cast<size_t>(slot)];
  Read out{slot, reads == 0, false};
  ++reads;
  if (reuse_ > 0) --readable_;
  if (reuse_ > 0 && reads >= reuse_) {
    out.left = true;
    remove(slot);
  } else {
    sampler_->kept(slot);
  }
  return out;
}

int64_t ItemTable::readable() const noexcept {
  if (reuse_ > 0) return readable_;
  return size() > 0 ? std::numeric_limits<int64_t>::max() : 0;
}

}  // namespace sluice
