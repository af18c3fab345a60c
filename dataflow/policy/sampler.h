#pragma once
#include "dataflow/base/random.h"
#include "dataflow/policy/slot_list.h"
#include "dataflow/policy/stream_policy.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace sluice {

/// Decides which of the held items is read next. Knows items by slot number only. Pure: no clock,
/// no lock; O(1) per call.
class Sampler {
 public:
  virtual ~Sampler() = default;
  virtual void add(int32_t slot) = 0;
  virtual void remove(int32_t slot) = 0;
  /// Starts the choice of one batch.
  virtual void begin() {}
  /// The next item of the batch. The caller then either removes it or calls kept().
  virtual int32_t pick() = 0;
  /// The picked item stays for further reads.
  virtual void kept(int32_t /*slot*/) {}
};

/// Oldest first; an item that stays after a read queues up again behind the others.
class FifoSampler final : public Sampler {
 public:
  explicit FifoSampler(int64_t capacity) : order_(capacity) {}
  void add(int32_t slot) override { order_.push_back(slot); }
  void remove(int32_t slot) override { order_.erase(slot); }
  int32_t pick() override { return order_.front(); }
  void kept(int32_t slot) override {
    order_.erase(slot);
    order_.push_back(slot);
  }

 private:
  SlotList order_;
};

/// Newest first; the items of one batch are distinct.
class NewestSampler final : public Sampler {
 public:
  explicit NewestSampler(int64_t capacity) : order_(capacity) {}
  void add(int32_t slot) override { order_.push_back(slot); }
  void remove(int32_t slot) override { order_.erase(slot); }
  void begin() override { cursor_ = order_.back(); }
  int32_t pick() override {
    const int32_t slot = cursor_;
    cursor_ = order_.prev(slot);
    return slot;
  }

 private:
  SlotList order_;
  int32_t cursor_ = SlotList::kNone;
};

/// Every held item with the same probability, with replacement while it stays. The same seed and
/// the same sequence of calls give the same choices.
class UniformSampler final : public Sampler {
 public:
  UniformSampler(int64_t capacity, uint64_t seed);
  void add(int32_t slot) override;
  void remove(int32_t slot) override;
  int32_t pick() override;

 private:
  RandomKey key_;
  uint64_t draws_ = 0;
  std::vector<int32_t> held_;      // dense
  std::vector<int32_t> position_;  // of a slot in held_
};

/// The sampler a stream declares.
std::unique_ptr<Sampler> make_sampler(Sampling sampling, int64_t capacity, uint64_t seed);

}  // namespace sluice
