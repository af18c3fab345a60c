#pragma once
#include "models/io/chat/ast.h"
#include "models/io/chat/runtime.h"

#include <string_view>

namespace sluice::jinja {

/// a OP b for the arithmetic operators (Add to Power), as Python has them on int, float, str, list
/// and tuple. Integers have 64 bits; what needs more fails.
[[nodiscard]] Value arithmetic(Runtime& rt, Op op, const Value& a, const Value& b);
/// -a, +a.
[[nodiscard]] Value negative(Runtime& rt, const Value& a);
[[nodiscard]] Value positive(Runtime& rt, const Value& a);

/// Python's "format" % values.
[[nodiscard]] Value percent_format(Runtime& rt, std::string_view format, const Value& values);
/// Python's "format".format(*args[1..], **keywords), with attributes and items as templates see
/// them.
[[nodiscard]] Value brace_format(Runtime& rt, std::string_view format, const CallArgs& args);

}  // namespace sluice::jinja
