#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::jinja {

/// Text is UTF-8 and behaves as Python's str, a sequence of code points. A byte that is not part of
/// valid UTF-8 counts as one code point and is kept as it is.

/// A code point at a byte offset; `size` bytes long, at least 1.
struct CodePoint {
  char32_t value = 0;
  size_t size = 1;
};

/// The code point at `offset`, which is below text.size().
[[nodiscard]] CodePoint code_point_at(std::string_view text, size_t offset) noexcept;
/// The byte offset of the code point that ends at `end` (above 0).
[[nodiscard]] size_t previous_offset(std::string_view text, size_t end) noexcept;
[[nodiscard]] bool valid_utf8(std::string_view text) noexcept;
[[nodiscard]] int64_t code_points(std::string_view text) noexcept;
/// The byte offset of code point `index`; text.size() when there are not so many.
[[nodiscard]] size_t byte_offset(std::string_view text, int64_t index) noexcept;
void append_utf8(char32_t value, std::string& out);

[[nodiscard]] bool is_space(char32_t c) noexcept;
[[nodiscard]] bool is_printable(char32_t c) noexcept;
[[nodiscard]] bool is_alpha(char32_t c) noexcept;
[[nodiscard]] bool is_decimal(char32_t c) noexcept;
[[nodiscard]] bool is_digit(char32_t c) noexcept;
[[nodiscard]] bool is_numeric(char32_t c) noexcept;
/// Has another upper (lower) form. Python's islower and isupper also know cased characters without
/// one; those are rare and count as uncased here.
[[nodiscard]] bool is_lower(char32_t c) noexcept;
[[nodiscard]] bool is_upper(char32_t c) noexcept;

void append_upper(char32_t c, std::string& out);
void append_lower(char32_t c, std::string& out);
void append_title(char32_t c, std::string& out);
[[nodiscard]] std::string to_upper(std::string_view text);
/// With the final form of a sigma at the end of a word.
[[nodiscard]] std::string to_lower(std::string_view text);

/// Without the white space at its ends, as Python's strip().
[[nodiscard]] std::string_view strip_left(std::string_view text) noexcept;
[[nodiscard]] std::string_view strip_right(std::string_view text) noexcept;

}  // namespace sluice::jinja
