#pragma once
#include "inference/kv/block_pool.h"
#include "inference/kv/prefix_cache.h"

#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

/// Where the keys and values of one sequence lie: token t is in slot t % block_size of
/// blocks[t / block_size].
struct BlockTable {
  std::vector<BlockId> blocks;
  ChainPoint place;        ///< in the prefix cache, behind the registered blocks
  int64_t registered = 0;  ///< leading blocks that were offered to the prefix cache
  bool cacheable = false;  ///< later blocks may be offered
};

/// Keys and values to copy before a step runs.
struct BlockCopy {
  BlockId from = kNoBlock;
  BlockId to = kNoBlock;
  friend bool operator==(const BlockCopy&, const BlockCopy&) = default;
};

/// The blocks of all sequences: tables that grow, share blocks after a fork and copy the shared
/// block that they write to, and prefixes found again. What a step reserves becomes firm with
/// commit() or is undone by rollback(). Pure bookkeeping, one thread.
class KvSpace {
 public:
  KvSpace(int32_t blocks, int32_t block_size, PrefixCache::Hash hash = nullptr);

  [[nodiscard]] int32_t block_size() const noexcept { return cache_.block_size(); }
  [[nodiscard]] int32_t blocks() const noexcept { return pool_.size(); }
  [[nodiscard]] int32_t free_blocks() const noexcept { return pool_.free(); }
  [[nodiscard]] int64_t cached_blocks() const noexcept { return cache_.size(); }
  /// Blocks that hold `tokens` tokens.
  [[nodiscard]] int64_t blocks_for(int64_t tokens) const noexcept {
    return (tokens + block_size() - 1) / block_size();
  }

  /// Gives an empty table the cached blocks that `tokens` starts with and returns the number of
  /// tokens in them: fewer than tokens.size(), as the last token must be computed. `find` false:
  /// finds nothing. Either way the table's later blocks are cached below `root`.
  int64_t attach(BlockTable& table, const ChainPoint& root, std::span<const int64_t> tokens,
                 bool find = true);

  /// Blocks that reserve() would take.
  [[nodiscard]] int64_t needed(const BlockTable& table, int64_t begin, int64_t end) const;
  /// Room to write tokens [begin, end), where the table holds all before `begin`. False, and
  /// nothing changes, when there are too few blocks. The table must stay where it is until commit()
  /// or rollback().
  [[nodiscard]] bool reserve(BlockTable& table, int64_t begin, int64_t end);
  /// What to copy before the reserved room is written.
  [[nodiscard]] const std::vector<BlockCopy>& copies() const noexcept { return copies_; }
  void commit();
  void rollback();

  /// Offers the table's full blocks among the first `computed` of `tokens` to the prefix cache.
  void cache_full(BlockTable& table, std::span<const int64_t> tokens, int64_t computed);

  /// Gives back the blocks behind those of the first `tokens` tokens: what was written there is of
  /// no use. Not between reserve() and commit().
  void truncate(BlockTable& table, int64_t tokens);

  /// A table that shares all blocks of `table`.
  [[nodiscard]] BlockTable fork(const BlockTable& table);
  /// Gives all blocks back, so that the last one is reused first; `keep` false: the prefix cache
  /// forgets them.
  void release(BlockTable& table, bool keep = true);
  /// Forgets all prefixes. Tables stay valid.
  void forget_prefixes();

  /// Internal when the holders of a block are not exactly `tables`, or the pool is inconsistent.
  [[nodiscard]] Status check(const std::vector<const BlockTable*>& tables) const;

 private:
  struct Undo {
    BlockTable* table = nullptr;
    size_t size = 0;         ///< blocks before
    size_t copied = 0;       ///< index of the block that was replaced by its copy
    BlockId old = kNoBlock;  ///< that block, still held; kNoBlock: none
  };
  /// The block that a write at `begin` must copy first, as an index of the table; -1: none.
  [[nodiscard]] int64_t shared_block(const BlockTable& table, int64_t begin) const;
  [[nodiscard]] BlockId take();
  void drop(BlockId block);

  BlockPool pool_;
  PrefixCache cache_;
  std::vector<Undo> undo_;
  std::vector<BlockCopy> copies_;
};

}  // namespace sluice
