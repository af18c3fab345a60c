#pragma once
#include "dataflow/policy/sampler.h"
#include "dataflow/policy/slot_list.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace sluice {

/// Keeps account of the items a stream holds: which slots are in use, in which order they came, how
/// often each was read, which one is next. The owner keeps the values in an array indexed by slot.
/// Pure: no clock, no lock, no allocation after construction.
class ItemTable {
 public:
  /// `reuse` reads make an item leave; 0: only remove() does.
  ItemTable(int64_t capacity, int64_t reuse, std::unique_ptr<Sampler> sampler);

  /// The slot for a new item; the table must not be full.
  int32_t insert();
  void remove(int32_t slot);
  void begin_batch() { sampler_->begin(); }
  struct Read {
    int32_t slot = SlotList::kNone;
    bool first = false;  ///< it had never been read before
    bool left = false;   ///< it was its last read: the slot is free again
  };
  /// Reads the next item; the table must not be empty.
  Read read();

  [[nodiscard]] int64_t size() const noexcept { return order_.size(); }
  [[nodiscard]] bool full() const noexcept { return free_.empty(); }
  /// Reads that are left in the items held; INT64_MAX without a reuse limit and with any item.
  [[nodiscard]] int64_t readable() const noexcept;
  [[nodiscard]] int64_t times_read(int32_t slot) const { return reads_[static_cast<size_t>(slot)]; }
  /// Iteration from the oldest item on; SlotList::kNone ends it.
  [[nodiscard]] int32_t oldest() const noexcept { return order_.front(); }
  [[nodiscard]] int32_t newer(int32_t slot) const noexcept { return order_.next(slot); }

 private:
  int64_t reuse_;
  std::unique_ptr<Sampler> sampler_;
  SlotList order_;
  std::vector<int32_t> free_;
  std::vector<int64_t> reads_;
  int64_t readable_ = 0;
};

}  // namespace sluice
