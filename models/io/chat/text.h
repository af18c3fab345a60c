#pragma once
#include "models/io/chat/runtime.h"

#include <string>
#include <string_view>

namespace sluice::jinja {

/// Appends str(value) as Python prints it. False when the runtime failed.
[[nodiscard]] bool append_str(Runtime& rt, const Value& value, std::string& out);
/// Appends repr(value).
[[nodiscard]] bool append_repr(Runtime& rt, const Value& value, std::string& out);
/// str(value) as text that lives as long as `storage` and the value; false when the runtime failed.
[[nodiscard]] bool text_of(Runtime& rt, const Value& value, std::string& storage,
                           std::string_view& text);

/// repr of a float: the shortest digits that read back the same.
void append_float(double value, std::string& out);
/// repr of a string, with the quotes Python would choose.
void append_quoted(std::string_view text, std::string& out);

/// How json.dumps writes.
struct JsonStyle {
  bool ascii = false;   ///< \u escapes for what is not ASCII
  bool pretty = false;  ///< an item a line, indented by `indent`
  bool sort_keys = false;
  std::string indent;
  std::string item_separator = ", ";
  std::string key_separator = ": ";
};
/// Appends json.dumps(value). False when the runtime failed, as for a value JSON does not have.
[[nodiscard]] bool append_json(Runtime& rt, const Value& value, const JsonStyle& style,
                               std::string& out);

}  // namespace sluice::jinja
