#pragma once
#include "envs/text/rewards.h"
#include "workers/sandbox/sandbox.h"

#include <optional>

namespace sluice {

/// The inside of the last closed block between lines of ``` (with or without a language), or
/// nothing.
[[nodiscard]] std::optional<std::string> last_code_block(std::string_view response);

/// 1 when the response's last code block, followed by the problem's field "tests", runs as a Python
/// program without an error within the limits; else 0, also without a block. Fails, and is not 0,
/// when the sandbox itself does or the problem has no tests.
RewardFunction python_tests_pass(Sandbox sandbox, SandboxLimits limits = {});

}  // namespace sluice
