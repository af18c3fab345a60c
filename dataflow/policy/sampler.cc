#include "dataflow/policy/sampler.h"

#include <cstddef>

namespace sluice {

UniformSampler::UniformSampler(int64_t capacity, uint64_t seed)
    : key_(seed), position_(static_cast<size_t>(capacity), SlotList::kNone) {
  held_.reserve(static_cast<size_t>(capacity));
}

void UniformSampler::add(int32_t slot) {
  position_[static_cast<size_t>(slot)] = static_cast<int32_t>(held_.size());
  held_.push_back(slot);
}

void UniformSampler::remove(int32_t slot) {
  const int32_t hole = position_[static_cast<size_t>(slot)];
  const int32_t last = held_.back();
  held_[static_cast<size_t>(hole)] = last;
  position_[static_cast<size_t>(last)] = hole;
  held_.pop_back();
  position_[static_cast<size_t>(slot)] = SlotList::kNone;
}

int32_t UniformSampler::pick() {
  // Lemire's multiply-shift: the bias is below 2^-32 for any table we can hold.
  __extension__ using Wide = unsigned __int128;
  const auto at =
      static_cast<size_t>((static_cast<Wide>(key_.word(draws_++)) * held_.size()) >> 64);
  return held_[at];
}

std::unique_ptr<Sampler> make_sampler(Sampling sampling, int64_t capacity, uint64_t seed) {
  switch (sampling) {
    case Sampling::Newest:
      return std::make_unique<NewestSampler>(capacity);
    case Sampling::Uniform:
      return std::make_unique<UniformSampler>(capacity, seed);
    case Sampling::Fifo:
      break;
  }
  return std::make_unique<FifoSampler>(capacity);
}

}  // namespace sluice
