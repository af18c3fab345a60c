#pragma once
#include "envs/text/draws.h"

#include <string>
#include <vector>

namespace sluice {

/// A common English noun of lower-case letters.
std::string draw_word(Draws& draws);
/// `n` different ones; n <= 100.
std::vector<std::string> draw_words(Draws& draws, int64_t n);

}  // namespace sluice
