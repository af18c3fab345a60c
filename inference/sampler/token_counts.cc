#include "inference/sampler/token_counts.h"

namespace sluice {
namespace {
size_t home(int64_t token, size_t slots) {
  const uint64_t mixed = static_cast<uint64_t>(token) * 0x9e3779b97f4a7c15ULL;
  return static_cast<size_t>(mixed >> 32) & (slots - 1);
}
}  // namespace

void TokenCounts::add_prompt(std::span<const int64_t> tokens) {
  for (const int64_t token : tokens) entry(token).in_prompt = true;
}

void TokenCounts::add_output(int64_t token) {
  ++entry(token).output;
  ++generated_;
}

TokenCounts::Entry& TokenCounts::entry(int64_t token) {
  if (2 * (entries_.size() + 1) > slots_.size()) grow();
  size_t at = home(token, slots_.size());
  for (; slots_[at] != 0; at = (at + 1) & (slots_.size() - 1)) {
    Entry& found = entries_[slots_[at] - 1];
    if (found.token == token) return found;
  }
  entries_.push_back({token, false, 0});
  slots_[at] = static_cast<uint32_t>(entries_.size());
  return entries_.back();
}

void TokenCounts::grow() {
  slots_.assign(slots_.empty() ? 64 : 2 * slots_.size(), 0);
  for (size_t i = 0; i < entries_.size(); ++i) {
    size_t at = home(entries_[i].token, slots_.size());
    while (slots_[at] != 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = static_cast<uint32_t>(i + 1);
  }
}

}  // namespace sluice
