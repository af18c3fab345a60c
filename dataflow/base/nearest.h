#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Up to `count` of `known` that look most like `wanted` (Damerau-Levenshtein, case folded), best
/// first; those too far off to be a slip of the pen are left out.
[[nodiscard]] std::vector<std::string> nearest(std::string_view wanted,
                                               std::span<const std::string> known,
                                               size_t count = 3);

/// ", did you mean 'a' or 'b'?" or "" when nothing is near. For the end of error messages.
[[nodiscard]] std::string did_you_mean(std::string_view wanted, std::span<const std::string> known);

}  // namespace sluice
