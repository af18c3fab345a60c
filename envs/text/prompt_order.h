#pragma once
#include "dataflow/base/random.h"
#include "dataflow/base/result.h"

#include <cstdint>

namespace sluice {

/// Where a walk over the problems of a split stands: the next problem is the one at `position` of
/// epoch `epoch`. All that a checkpoint must keep of it.
struct PromptCursor {
  int64_t epoch = 0;
  int64_t position = 0;
  friend bool operator==(const PromptCursor&, const PromptCursor&) = default;
};

/// The order in which the problems of a split are used: every epoch holds each index exactly once,
/// shuffled by a permutation that depends on (seed, epoch) and nothing else. So the order after a
/// resume is that of a run that was never interrupted. A small value for one thread.
///
///   PromptOrder order(seed, task->size(Split::Train));
///   task->problem(Split::Train, order.next());
class PromptOrder {
 public:
  enum class Kind : uint8_t { Shuffled, InOrder };

  /// `size` > 0, or -1 for a split that never ends: its order is 0, 1, 2, .. in one endless epoch.
  PromptOrder(uint64_t seed, int64_t size, Kind kind = Kind::Shuffled);

  /// The next index. After the last of an epoch comes the first of the next one.
  int64_t next();
  /// The place of the problem that next() gives, never one behind the end of an epoch.
  [[nodiscard]] PromptCursor cursor() const noexcept { return cursor_; }
  /// Problems before the cursor, over all epochs.
  [[nodiscard]] int64_t taken() const noexcept;

  /// Continues at a cursor, also at one of {epoch, size}. DataLoss when it does not belong to a
  /// split of this size.
  Status seek(PromptCursor cursor);

 private:
  RandomKey key_;
  int64_t size_;
  Kind kind_;
  PromptCursor cursor_;
};

}  // namespace sluice
