#pragma once
#include "dataflow/base/config.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

/// What a full stream does to the next write.
enum class WhenFull : uint8_t { Block, DropOldest, Refuse };
/// Which items a reader gets.
enum class Sampling : uint8_t { Fifo, Newest, Uniform };
/// What happens to an item that is more than max_staleness versions old when it is read. Wait holds
/// the writers back (and therefore needs admit_ahead), so that only a straggler can be too old; a
/// straggler is dropped.
enum class OnStale : uint8_t { Drop, Wait, Error };

/// Everything a stream declares. Plain data; the classes beside this file act on it.
struct StreamPolicy {
  int64_t capacity = 1024;  ///< items held; a full stream does `when_full`
  WhenFull when_full = WhenFull::Block;
  Sampling sampling = Sampling::Fifo;
  int64_t reuse = 1;              ///< reads before an item leaves; 0 = only when pushed out
  int64_t min_size = 1;           ///< nothing is read before so many items are there
  double samples_per_insert = 0;  ///< target ratio of reads to writes; 0 = no limit
  double ratio_tolerance = 0;     ///< items the ratio may run ahead on either side
  int64_t admit_ahead = -1;       ///< eta of the admission rule; -1 = no admission
  int64_t admit_batch = 0;        ///< items the consumer trains on per version
  int64_t max_staleness = -1;     ///< versions; -1 = any age
  OnStale on_stale = OnStale::Drop;

  void bind(ConfigBinder& b);
};

/// What cannot work, in plain words and with the numbers that clash; empty when all is well.
[[nodiscard]] std::vector<std::string> problems(const StreamPolicy& policy);

/// The settings in which two policies differ, as "capacity 4 and 8"; empty when they are the same.
[[nodiscard]] std::vector<std::string> differences(const StreamPolicy& a, const StreamPolicy& b);

}  // namespace sluice
