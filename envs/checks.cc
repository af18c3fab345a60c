#include "envs/checks.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace sluice {
namespace {

bool positive(const std::vector<int64_t>& shape) {
  return std::all_of(shape.begin(), shape.end(), [](int64_t size) { return size > 0; });
}

void check_action(const ActionSpec& action, std::vector<std::string>& faults) {
  if (action.kind == ActionSpec::Kind::Discrete) {
    if (action.n < 1) faults.push_back(fmt::format("{} discrete actions, at least 1", action.n));
    return;
  }
  if (!positive(action.shape)) {
    faults.push_back(fmt::format("an empty action {}", action.tensor().to_string()));
  }
  if (!std::isfinite(action.low) || !std::isfinite(action.high) || action.low >= action.high) {
    faults.push_back(
        fmt::format("action bounds [{}, {}], finite and low < high", action.low, action.high));
  }
}

}  // namespace

Status check_spec(const EnvSpec& spec) {
  std::vector<std::string> faults;
  if (spec.name.empty()) faults.emplace_back("no name");
  const auto& fields = spec.observation.fields();
  if (fields.empty() || fields.size() > kMaxObservationTensors) {
    faults.push_back(
        fmt::format("{} observation tensors, 1 to {}", fields.size(), kMaxObservationTensors));
  }
  std::set<std::string_view> names;
  for (const TensorSpec& field : fields) {
    if (field.name.empty()) faults.emplace_back("an observation without a name");
    if (!names.insert(field.name).second) {
      faults.push_back(fmt::format("observation '{}' twice", field.name));
    }
    if (!positive(field.shape)) {
      faults.push_back(fmt::format("an empty observation {}", field.to_string()));
    }
  }
  check_action(spec.action, faults);
  if (spec.max_episode_steps < 0) {
    faults.push_back(fmt::format("max_episode_steps {}, 0 or more", spec.max_episode_steps));
  }
  if (faults.empty()) return {};
  return invalid_argument("the spec of environment '{}' has {}", spec.name,
                          fmt::join(faults, "; "));
}

Status no_episode(std::string_view env) {
  return error(Code::FailedPrecondition,
               "{}: step() without a running episode; call reset() first and after every end", env);
}

Status bad_discrete_action(std::string_view env, int64_t action, int64_t n) {
  return invalid_argument("{}: action {} is not one of 0..{}", env, action, n - 1);
}

Status bad_box_action(std::string_view env, int64_t element, float value) {
  return invalid_argument("{}: element {} of the action is {}, not a finite number", env, element,
                          value);
}

}  // namespace sluice
