#pragma once
#include "models/io/chat/value.h"

#include <span>

namespace sluice::jinja {

/// The built-in functions, by the file that has them. library.cc makes the tables of names.
[[nodiscard]] std::span<const Function> text_filters();
[[nodiscard]] std::span<const Function> number_filters();
[[nodiscard]] std::span<const Function> sequence_filters();
[[nodiscard]] std::span<const Function> select_filters();
[[nodiscard]] std::span<const Function> tests();
[[nodiscard]] std::span<const Function> globals();
[[nodiscard]] std::span<const Function> string_methods();
[[nodiscard]] std::span<const Function> string_case_methods();
[[nodiscard]] std::span<const Function> list_methods();  ///< of tuples and ranges too
[[nodiscard]] std::span<const Function> dict_methods();
[[nodiscard]] std::span<const Function> loop_methods();

}  // namespace sluice::jinja
