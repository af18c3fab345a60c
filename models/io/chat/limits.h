#pragma once
#include <cstddef>
#include <cstdint>

namespace sluice {

/// Bounds of one rendering. A template that crosses one fails with ResourceExhausted.
struct RenderLimits {
  int64_t max_steps = 20'000'000;       ///< evaluated nodes, items, and 256 bytes of text each
  int max_depth = 400;                  ///< expressions, blocks and macros within one another
  size_t max_output_bytes = 64u << 20;  ///< of the whole text and of any one string
  size_t max_memory_bytes = size_t{256} << 20;  ///< everything made on the way, together
};

}  // namespace sluice
