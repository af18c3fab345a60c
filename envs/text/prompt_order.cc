#include "envs/text/prompt_order.h"

#include "envs/text/permute.h"

namespace sluice {

PromptOrder::PromptOrder(uint64_t seed, int64_t size, Kind kind)
    : key_(RandomKey(seed).split("prompt order")), size_(size), kind_(kind) {
  SLUICE_CHECK(size > 0 || size == -1) << "a split of " << size << " problems has no order";
}

int64_t PromptOrder::next() {
  if (size_ < 0) return cursor_.position++;
  int64_t index = cursor_.position;
  if (kind_ == Kind::Shuffled) {
    index = permuted(key_.split(static_cast<uint64_t>(cursor_.epoch)), size_, index);
  }
  if (++cursor_.position == size_) cursor_ = {cursor_.epoch + 1, 0};
  return index;
}

int64_t PromptOrder::taken() const noexcept {
  return size_ < 0 ? cursor_.position : cursor_.epoch * size_ + cursor_.position;
}

Status PromptOrder::seek(PromptCursor cursor) {
  const bool bad = cursor.epoch < 0 || cursor.position < 0 ||
                   (size_ < 0 ? cursor.epoch != 0 : cursor.position > size_);
  if (bad) {
    return error(Code::DataLoss,
                 "a cursor at problem {} of epoch {} does not belong to a split of {} problems",
                 cursor.position, cursor.epoch, size_);
  }
  if (cursor.position == size_) cursor = {cursor.epoch + 1, 0};
  cursor_ = cursor;
  return {};
}

}  // namespace sluice
