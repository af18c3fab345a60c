#pragma once
#include "envs/env.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

using EnvFactory = std::function<std::unique_ptr<Env>()>;

/// Adds an environment under a name. AlreadyExists when the name is taken; InvalidArgument when it
/// is empty or holds a ':' (what follows one is options). Call before any graph is built (static
/// registration or the first lines of main); not thread-safe against make_env. `factory` may be
/// called from any thread.
Status register_env(std::string name, EnvFactory factory);

/// A new copy. NotFound names the nearest known environments and lists all.
Result<std::unique_ptr<Env>> make_env(std::string_view name);
/// What make_env(name) would report as its spec; also fails when that spec is not consistent.
Result<EnvSpec> env_spec(std::string_view name);
/// All names without options, sorted.
[[nodiscard]] std::vector<std::string> env_names();

}  // namespace sluice
