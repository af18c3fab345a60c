#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace sluice {

/// A question to a language model, as token ids: the record of truth that nothing re-tokenises.
struct Prompt {
  static constexpr std::string_view kPayloadName = "Prompt";

  int64_t number = 0;   ///< 0, 1, .. in the run: names the group of its answers, and their seed
  int64_t problem = 0;  ///< index of the problem in its task
  std::vector<int64_t> tokens;

  [[nodiscard]] int64_t weight() const noexcept { return static_cast<int64_t>(tokens.size()); }
};

}  // namespace sluice
