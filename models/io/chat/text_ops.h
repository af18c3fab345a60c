#pragma once
#include "models/io/chat/runtime.h"

#include <string_view>
#include <vector>

namespace sluice::jinja {

/// Python's str functions on text that outlives the rendering; results are views into it. Each
/// gives Failed (or false) when the runtime failed.

/// text.strip(chars); chars null strips white space. `left` and `right` say which ends.
[[nodiscard]] std::string_view stripped(std::string_view text, const std::string_view* chars,
                                        bool left, bool right) noexcept;
/// text.split(separator, limit), or without separator at white space; limit < 0 is none.
[[nodiscard]] bool split(Runtime& rt, std::string_view text, const std::string_view* separator,
                         int64_t limit, std::vector<Value>& parts);
/// text.rsplit(separator, limit).
[[nodiscard]] bool split_from_right(Runtime& rt, std::string_view text,
                                    const std::string_view* separator, int64_t limit,
                                    std::vector<Value>& parts);
/// text.splitlines(keep_ends).
[[nodiscard]] bool split_lines(Runtime& rt, std::string_view text, bool keep_ends,
                               std::vector<Value>& lines);
/// text.replace(old, with, limit).
[[nodiscard]] Value replaced(Runtime& rt, std::string_view text, std::string_view old,
                             std::string_view with, int64_t limit);
/// Position of the last `needle` that ends at or before `end`; npos when there is none.
[[nodiscard]] size_t find_last(Runtime& rt, std::string_view text, std::string_view needle,
                               size_t end);
/// Appends `count` copies of `fill`; false when that is more than a text may be.
[[nodiscard]] bool pad(Runtime& rt, std::string_view fill, int64_t count, std::string& out);

}  // namespace sluice::jinja
