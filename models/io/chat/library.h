#pragma once
#include "models/io/chat/value.h"

#include <string_view>

namespace sluice::jinja {

/// The built-in names; null when there is none of that name.
[[nodiscard]] const Function* find_filter(std::string_view name);
[[nodiscard]] const Function* find_test(std::string_view name);
/// range, dict, namespace, raise_exception and strftime_now.
[[nodiscard]] const Function* find_global(std::string_view name);
/// A method of values of `kind`. Those that would change a list or dict are not among them.
[[nodiscard]] const Function* find_method(Kind kind, std::string_view name);

}  // namespace sluice::jinja
