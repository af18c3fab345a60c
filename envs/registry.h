#pragma once
#include "envs/env.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

using EnvFactory = std::function<std::unique_ptr<Env>()>;

/// Adds an environment under a name. AlreadyExists when the name is taken. Call before any graph is
/// built (static registration or the first lines of main); not thread-safe against make_env.
Status register_env(std::string name, EnvFactory factory);

/// A new copy. NotFound names the nearest known environments.
Result<std::unique_ptr<Env>> make_env(std::string_view name);
Result<EnvSpec> env_spec(std::string_view name);
[[nodiscard]] std::vector<std::string> env_names();

}  // namespace sluice
