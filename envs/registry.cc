#include "envs/registry.h"

#include "dataflow/base/nearest.h"
#include "envs/checks.h"
#include "envs/classic/cartpole.h"
#include "envs/classic/pendulum.h"
#include "envs/dummy.h"
#include "envs/faulty.h"
#include "envs/null_env.h"

#include <map>

namespace sluice {
namespace {

constexpr std::string_view kFaulty = "faulty";

using Table = std::map<std::string, EnvFactory, std::less<>>;

template <class E>
std::unique_ptr<Env> make() {
  return std::make_unique<E>();
}

// The environments that come with Sluice, one line each.
Table& table() {
  static Table table{
      {"CartPole-v1", make<CartPoleEnv>},
      {"Pendulum-v1", make<PendulumEnv>},
      {"dummy", make<DummyEnv>},
      {"null", make<NullEnv>},
      {std::string(kFaulty), [] { return std::make_unique<FaultyEnv>("faulty", Fault{}); }},
  };
  return table;
}

}  // namespace

Status register_env(std::string name, EnvFactory factory) {
  if (name.empty() || name.find(':') != std::string::npos) {
    return invalid_argument("'{}' cannot name an environment: it must not be empty or hold a ':'",
                            name);
  }
  if (!factory) return invalid_argument("environment '{}' was registered without a factory", name);
  const auto [place, added] = table().try_emplace(std::move(name), std::move(factory));
  if (!added) {
    return error(Code::AlreadyExists, "environment '{}' is registered already", place->first);
  }
  return {};
}

Result<std::unique_ptr<Env>> make_env(std::string_view name) {
  const size_t colon = name.find(':');
  if (colon != std::string_view::npos && name.substr(0, colon) == kFaulty) {
    auto fault = Fault::parse(name.substr(colon + 1));
    if (!fault.ok()) return fault.status().with_context(name);
    return std::unique_ptr<Env>(std::make_unique<FaultyEnv>(std::string(name), *fault));
  }
  const auto found = table().find(name);
  if (found == table().end()) {
    const std::vector<std::string> known = env_names();
    const std::string near = did_you_mean(name, known);
    return error(Code::NotFound, "unknown environment '{}'{} Known: {}", name,
                 near.empty() ? "." : near, fmt::join(known, ", "));
  }
  std::unique_ptr<Env> env = found->second();
  if (!env) return error(Code::Internal, "the factory of environment '{}' made nothing", name);
  return env;
}

Result<EnvSpec> env_spec(std::string_view name) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Env> env, make_env(name));
  RETURN_IF_ERROR(check_spec(env->spec()));
  return env->spec();
}

std::vector<std::string> env_names() {
  std::vector<std::string> names;
  for (const auto& [name, factory] : table()) names.push_back(name);
  return names;
}

}  // namespace sluice
