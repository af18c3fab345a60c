#pragma once
#include "dataflow/base/result.h"

#include <string_view>

namespace sluice {

/// Whether two final answers mean the same. Equal texts do, but for white space. Otherwise both are
/// read as mathematics (parse_expression, same_value): "\frac{1}{2}" is "0.5", "2(x+1)" is "2x+2",
/// "x = 5" is "5". Lists, tuples and intervals are compared part by part in their order, brackets
/// included; sets in "\{ \}" without order. A given answer that is no mathematics, or too large to
/// be decided within bounds, is not the same. A failure means that the reference itself cannot be
/// judged: it is too large, or divides by zero. Any thread.
Result<bool> same_answer(std::string_view given, std::string_view reference);

}  // namespace sluice
