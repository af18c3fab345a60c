#pragma once
#include "dataflow/base/ids.h"
#include "inference/kv/block_pool.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sluice {

/// A place in the tree of cached prefixes: a root, or one cached block. Two blocks with the same
/// tokens at different places hold different keys and values.
struct ChainPoint {
  uint64_t high = 0;
  uint64_t low = 0;
  friend bool operator==(const ChainPoint&, const ChainPoint&) = default;
};

/// The root of all prefixes computed with one state of the weights, with one adapter ("" = none),
/// for those who share `salt`. Every part is tagged and carries its length: equal text in
/// different parts gives different roots.
[[nodiscard]] ChainPoint prefix_root(const VersionTag& version, std::string_view salt = {},
                                     std::string_view adapter = {});

/// Which full blocks hold the keys and values of which prefix. A block is found by a hash of its
/// place and tokens; the place and the token ids are compared, so that equal hashes do no harm.
/// Holds no references: whoever reuses a block erases it here first. One thread.
class PrefixCache {
 public:
  using Hash = uint64_t (*)(const ChainPoint& place, std::span<const int64_t> tokens);

  /// `hash` null: XXH3.
  PrefixCache(int32_t blocks, int32_t block_size, Hash hash = nullptr);

  /// The cached blocks, at most `limit`, that `tokens` starts with below `root`. `end` (may be
  /// null) becomes the place of the last one.
  [[nodiscard]] std::vector<BlockId> find(const ChainPoint& root, std::span<const int64_t> tokens,
                                          int64_t limit, ChainPoint* end = nullptr) const;

  /// Says that `block` holds `tokens` (a full block's) at `place`. Returns the place behind it, of
  /// the block that was there before if there is one; then `block` does not become cached.
  ChainPoint insert(const ChainPoint& place, std::span<const int64_t> tokens, BlockId block);

  [[nodiscard]] bool contains(BlockId block) const;
  void erase(BlockId block);
  void clear();
  /// Cached blocks.
  [[nodiscard]] int64_t size() const noexcept { return static_cast<int64_t>(by_hash_.size()); }

  [[nodiscard]] int32_t block_size() const noexcept { return block_size_; }

 private:
  struct Entry {
    uint64_t serial = 0;  ///< 0: not cached; never used twice
    uint64_t hash = 0;
    ChainPoint place;
    std::vector<int64_t> tokens;
  };
  [[nodiscard]] BlockId find_one(const ChainPoint& place, std::span<const int64_t> tokens) const;

  int32_t block_size_;
  Hash hash_;
  uint64_t next_serial_ = 1;
  std::vector<Entry> entries_;  ///< by block
  std::unordered_multimap<uint64_t, BlockId> by_hash_;
};

}  // namespace sluice
