#include "inference/cuda/graph_bucket.h"

#include <bit>

namespace sluice {

std::optional<GraphBucket> graph_bucket(int64_t rows, int64_t width, int64_t max_rows) noexcept {
  const auto power = [](int64_t n) {
    return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(n)));
  };
  if (rows < 1 || width < 1) return std::nullopt;
  const int64_t padded = rows <= 8 ? power(rows) : (rows + 7) / 8 * 8;
  if (padded > max_rows) return std::nullopt;
  return GraphBucket{padded, power(width)};
}

}  // namespace sluice
