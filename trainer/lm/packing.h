#pragma once
#include "dataflow/base/result.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace sluice {

/// Which items go together: bins of item numbers.
using Packing = std::vector<std::vector<size_t>>;

/// Packs items of `sizes` into bins of at most `budget`: as few as best fit with decreasing sizes
/// needs (Johnson, "Near-optimal bin packing algorithms", 1973), filled as evenly as that many bins
/// allow (the longest first into the emptiest, Graham, SIAM J. Appl. Math. 17, 1969, where that
/// fits the budget). Items of a bin stand in their order, and bins in the order of their first
/// item: the result depends on the sizes alone. InvalidArgument names an item above the budget as
/// `what` and its number, and a size below 0.
Result<Packing> pack_best_fit(std::span<const int64_t> sizes, int64_t budget,
                              std::string_view what = "item");

}  // namespace sluice
