#pragma once
#include "models/io/chat/ast.h"
#include "models/io/chat/runtime.h"

#include <vector>

namespace sluice::jinja {

/// Python's truth value.
[[nodiscard]] bool truthy(const Value& value);

/// Each gives false as its result when the runtime failed; `out` is then meaningless.

/// a == b.
[[nodiscard]] bool equal(Runtime& rt, const Value& a, const Value& b, bool& out);
/// a < b (Op::Less), <=, >, >=. Fails for values that Python does not order.
[[nodiscard]] bool ordered(Runtime& rt, Op op, const Value& a, const Value& b, bool& out);
/// item in container.
[[nodiscard]] bool contains(Runtime& rt, const Value& container, const Value& item, bool& out);

/// The order that sorts `keys` stably, ascending or (`reverse`) descending.
[[nodiscard]] bool sorted_order(Runtime& rt, const std::vector<Value>& keys, bool reverse,
                                std::vector<size_t>& order);

}  // namespace sluice::jinja
