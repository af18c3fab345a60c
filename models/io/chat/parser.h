#pragma once
#include "dataflow/base/result.h"
#include "models/io/chat/ast.h"

#include <string_view>

namespace sluice::jinja {

/// Bounds of what a template may be; they are far above what real ones need.
inline constexpr size_t kMaxSourceBytes = 1 << 18;
inline constexpr int kMaxNesting = 100;     ///< blocks and brackets within one another
inline constexpr int kMaxExprHeight = 200;  ///< operators that wait for one another

/// The statements of a template. Fails with the line of the first thing that is wrong: syntax, a
/// tag that needs other templates (include, import, extends, block), an unknown tag, filter or
/// test.
[[nodiscard]] Result<Body> parse(std::string_view source);

}  // namespace sluice::jinja
