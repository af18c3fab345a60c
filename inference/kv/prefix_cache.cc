#include "inference/kv/prefix_cache.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <string>

namespace sluice {
namespace {

uint64_t xxh3(const ChainPoint& place, std::span<const int64_t> tokens) {
  const uint64_t seed = place.high ^ (place.low * 0x9E3779B97F4A7C15ULL);
  return XXH3_64bits_withSeed(tokens.data(), tokens.size_bytes(), seed);
}

void put(std::string& out, std::string_view tag, std::string_view part) {
  out += fmt::format("{}:{}:", tag, part.size());
  out += part;
}

}  // namespace

ChainPoint prefix_root(const VersionTag& version, std::string_view salt, std::string_view adapter) {
  std::string text = "sluice prefix root;";
  put(text, "weights",
      fmt::format("{} {} {} {}", version.run, version.incarnation, version.step, version.digest));
  put(text, "salt", salt);
  put(text, "adapter", adapter);
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  // The upper half of a cached block's place is 0; a root's must differ.
  return {hash.high64 | 1, hash.low64};
}

PrefixCache::PrefixCache(int32_t blocks, int32_t block_size, Hash hash)
    : block_size_(block_size),
      hash_(hash != nullptr ? hash : xxh3),
      entries_(static_cast<size_t>(blocks)) {
  SLUICE_CHECK(block_size > 0) << "blocks of " << block_size << " tokens";
}

BlockId PrefixCache::find_one(const ChainPoint& place, std::span<const int64_t> tokens) const {
  const auto [begin, end] = by_hash_.equal_range(hash_(place, tokens));
  for (auto it = begin; it != end; ++it) {
    const Entry& entry = entries_[static_cast<size_t>(it->second)];
    if (entry.place == place && std::ranges::equal(entry.tokens, tokens)) return it->second;
  }
  return kNoBlock;
}

std::vector<BlockId> PrefixCache::find(const ChainPoint& root, std::span<const int64_t> tokens,
                                       int64_t limit, ChainPoint* end) const {
  std::vector<BlockId> found;
  ChainPoint place = root;
  const auto size = static_cast<size_t>(block_size_);
  while (static_cast<int64_t>(found.size()) < limit && tokens.size() >= size) {
    const BlockId block = find_one(place, tokens.first(size));
    if (block == kNoBlock) break;
    found.push_back(block);
    place = {0, entries_[static_cast<size_t>(block)].serial};
    tokens = tokens.subspan(size);
  }
  if (end != nullptr) *end = place;
  return found;
}

ChainPoint PrefixCache::insert(const ChainPoint& place, std::span<const int64_t> tokens,
                               BlockId block) {
  SLUICE_CHECK(std::ssize(tokens) == block_size_) << tokens.size() << " tokens in a block";
  const BlockId there = find_one(place, tokens);
  if (there != kNoBlock) return {0, entries_[static_cast<size_t>(there)].serial};
  Entry& entry = entries_.at(static_cast<size_t>(block));
  SLUICE_CHECK(entry.serial == 0) << "block " << block << " is cached already";
  entry.serial = next_serial_++;
  entry.hash = hash_(place, tokens);
  entry.place = place;
  entry.tokens.assign(tokens.begin(), tokens.end());
  by_hash_.emplace(entry.hash, block);
  return {0, entry.serial};
}

bool PrefixCache::contains(BlockId block) const {
  return entries_.at(static_cast<size_t>(block)).serial != 0;
}

void PrefixCache::erase(BlockId block) {
  Entry& entry = entries_.at(static_cast<size_t>(block));
  if (entry.serial == 0) return;
  const auto [begin, end] = by_hash_.equal_range(entry.hash);
  for (auto it = begin; it != end; ++it) {
    if (it->second != block) continue;
    by_hash_.erase(it);
    break;
  }
  entry.serial = 0;
  entry.tokens.clear();
}

void PrefixCache::clear() {
  for (Entry& entry : entries_) {
    entry.serial = 0;
    entry.tokens.clear();
  }
  by_hash_.clear();
}

}  // namespace sluice
