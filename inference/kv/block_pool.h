#pragma once
#include "dataflow/base/result.h"

#include <cstdint>
#include <vector>

namespace sluice {

/// Names one block of the KV cache: a place for `block_size` tokens in every layer.
using BlockId = int32_t;
inline constexpr BlockId kNoBlock = -1;

/// A fixed number of blocks with reference counts. Blocks that nobody holds wait in a list, the
/// least recently used first; its links lie in the blocks, so that any of them can leave it at
/// once. Pure bookkeeping: no memory of keys and values, one thread.
class BlockPool {
 public:
  /// Where a block that nobody holds any more waits to be taken.
  enum class Reuse : uint8_t {
    First,  ///< before all others: its content is of no use
    Last,   ///< behind all others: its content may be found again
  };

  explicit BlockPool(int32_t blocks);

  [[nodiscard]] int32_t size() const noexcept { return static_cast<int32_t>(blocks_.size()); }
  [[nodiscard]] int32_t free() const noexcept { return free_; }
  [[nodiscard]] int32_t refs(BlockId id) const;

  /// The block that waited longest, held once; kNoBlock when all are held.
  [[nodiscard]] BlockId take();
  /// One more holder. A block that nobody holds leaves the list.
  void ref(BlockId id);
  /// One holder less; the last one puts the block into the list.
  void unref(BlockId id, Reuse reuse = Reuse::First);

  /// Internal when the list and the counts disagree.
  [[nodiscard]] Status check() const;

 private:
  struct Block {
    int32_t refs = 0;
    BlockId previous = kNoBlock;  ///< neighbours in the list of free blocks
    BlockId next = kNoBlock;
  };
  [[nodiscard]] Block& at(BlockId id);
  void push_front(BlockId id);
  void push_back(BlockId id);
  void unlink(BlockId id);

  std::vector<Block> blocks_;
  BlockId head_ = kNoBlock;
  BlockId tail_ = kNoBlock;
  int32_t free_ = 0;
};

}  // namespace sluice
