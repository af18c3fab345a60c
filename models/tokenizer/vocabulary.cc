#include "models/tokenizer/vocabulary.h"

namespace sluice {

void Vocabulary::reserve(size_t count, size_t end) {
  by_id_.resize(end);
  slots_.assign(std::bit_ceil(count * 2 + 2), kNoToken);
}

size_t Vocabulary::slot_of(std::string_view text) const {
  const size_t mask = slots_.size() - 1;
  size_t i = hash_bytes(text) & mask;
  while (slots_[i] != kNoToken && this->text(slots_[i]) != text) i = (i + 1) & mask;
  return i;
}

Vocabulary::Added Vocabulary::add(std::string_view text, TokenId id) {
  const size_t slot = slot_of(text);
  if (slots_[slot] != kNoToken) return Added::TextTaken;
  if (by_id_[id].present) return Added::IdTaken;
  by_id_[id] = {static_cast<uint32_t>(arena_.size()), static_cast<uint32_t>(text.size()), true};
  arena_ += text;
  slots_[slot] = id;
  ++size_;
  end_ = std::max(end_, static_cast<size_t>(id) + 1);
  return Added::Yes;
}

void Vocabulary::add_last_wins(std::string_view text, TokenId id) {
  const size_t slot = slot_of(text);
  if (slots_[slot] == kNoToken) {
    add(text, id);
    return;
  }
  by_id_[id] = by_id_[slots_[slot]];
  slots_[slot] = id;
  ++size_;
  end_ = std::max(end_, static_cast<size_t>(id) + 1);
}

TokenId Vocabulary::find(std::string_view text) const {
  return slots_.empty() ? kNoToken : slots_[slot_of(text)];
}

}  // namespace sluice
