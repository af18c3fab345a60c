#pragma once
#include "models/io/chat/runtime.h"

#include <string>
#include <string_view>

namespace sluice::jinja {

/// Python's format specification: [[fill]align][sign][#][0][width][,][.precision][type].
struct FormatSpec {
  std::string fill = " ";
  char align = '\0';  ///< '<' '>' '^' '='; '\0' as the type has it
  char sign = '-';    ///< '-' '+' ' '
  bool alternate = false;
  bool grouped = false;  ///< thousands apart with ','
  int64_t width = 0;
  int64_t precision = -1;
  char type = '\0';
};

/// Reads "…" of "{:…}"; false when it is none.
[[nodiscard]] bool parse_format_spec(std::string_view text, FormatSpec& spec);
/// Appends format(value, spec). False when the runtime failed.
[[nodiscard]] bool append_formatted(Runtime& rt, const Value& value, const FormatSpec& spec,
                                    std::string& out);

}  // namespace sluice::jinja
