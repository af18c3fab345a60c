#pragma once
#include "dataflow/base/result.h"

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// Path of the first of these programs that PATH offers.
[[nodiscard]] std::optional<std::string> find_program(std::initializer_list<const char*> names);

/// Runs a program without a shell and waits for it; it inherits standard error, reads nothing and
/// its output goes to standard error. A failure says which program ended how.
Status run_program(const std::vector<std::string>& arguments);

}  // namespace sluice
