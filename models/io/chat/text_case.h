#pragma once
#include "models/io/chat/runtime.h"

#include <string>
#include <string_view>

namespace sluice::jinja {

/// Python's str.title(): every letter behind something that is no letter becomes a capital.
[[nodiscard]] std::string to_title(std::string_view text);
/// Jinja's title filter: capitals behind white space and any of -([{<.
[[nodiscard]] std::string title_words(std::string_view text);
[[nodiscard]] std::string capitalized(std::string_view text);
[[nodiscard]] std::string swapped_case(std::string_view text);
/// There is a cased character, and none of the other case.
[[nodiscard]] bool is_cased(std::string_view text, bool upper);

/// `text` in a field of `width` characters: in the middle as Python's center() (side 0), at the
/// left (side 1) or at the right (side -1).
[[nodiscard]] Value centred(Runtime& rt, std::string_view text, int64_t width,
                            std::string_view fill, int side);

}  // namespace sluice::jinja
