#pragma once
#include "models/io/chat/runtime.h"

#include <cstddef>
#include <string_view>
#include <vector>

namespace sluice::jinja {

/// subject.name: a method or member, else subject["name"], else undefined. Fails on undefined.
[[nodiscard]] Value attribute(Runtime& rt, const Value& subject, const Str& name);
/// subject[index]: an item or slice, else a member of that name, else undefined. Fails on
/// undefined.
[[nodiscard]] Value item(Runtime& rt, const Value& subject, const Value& index);
/// Follows a path as the filters' attribute arguments have it: "a.b.0", or a number.
[[nodiscard]] Value follow(Runtime& rt, Value subject, const Value& path);

/// What iterating over `value` gives; a generator is used up by it. False (runtime failed) when it
/// cannot be iterated.
[[nodiscard]] bool iterate(Runtime& rt, const Value& value, std::vector<Value>& items);
/// len(value); -1 when it has none.
[[nodiscard]] int64_t length_of(const Value& value);

/// Position of `needle` at or after `from`, in time linear in both; npos when it is not there.
[[nodiscard]] size_t find_text(std::string_view text, std::string_view needle,
                               size_t from = 0) noexcept;

}  // namespace sluice::jinja
