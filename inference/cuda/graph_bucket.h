#pragma once
#include <compare>
#include <cstdint>
#include <optional>

namespace sluice {

/// The sizes of a recorded decode step; smaller steps are padded to it.
struct GraphBucket {
  int64_t rows = 0;   ///< sequences
  int64_t width = 0;  ///< blocks of a table

  auto operator<=>(const GraphBucket&) const = default;
};

/// The smallest bucket that a step fits: 1, 2, 4 or a multiple of 8 sequences, tables of a power of
/// two. None when that is more than `max_rows` sequences.
[[nodiscard]] std::optional<GraphBucket> graph_bucket(int64_t rows, int64_t width,
                                                      int64_t max_rows) noexcept;

}  // namespace sluice
