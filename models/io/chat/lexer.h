#pragma once
#include "dataflow/base/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::jinja {

/// A piece of a template: text between tags, the ends of tags, and what stands inside tags.
struct Token {
  enum class Kind {
    Data,
    PrintBegin,
    PrintEnd,
    BlockBegin,
    BlockEnd,
    Name,
    String,
    Integer,
    Float,
    Operator,
    End
  };
  Kind kind = Kind::End;
  int line = 1;         ///< of the template, from 1
  std::string text;     ///< data, name, operator, or string without quotes and escapes
  int64_t integer = 0;  ///< of Integer
  double real = 0;      ///< of Float
};

/// Cuts a template into tokens, the last of which is End. White space is handled as Jinja does with
/// trim_blocks and lstrip_blocks on: the newline after a block or comment goes, and so do blanks
/// before one on its line; '-' and '+' at the tags strip all or nothing. Comments and raw blocks
/// are resolved. Fails with the line of what cannot be read.
[[nodiscard]] Result<std::vector<Token>> tokenize(std::string_view source);

/// "chat template line 3: MESSAGE", on one line whatever the message holds.
[[nodiscard]] Status error_at(Code code, int line, std::string_view message);

}  // namespace sluice::jinja
