#include "models/nets/spec.h"

namespace sluice {

int64_t MlpSpec::in(int64_t i) const noexcept {
  if (i == 0) return inputs;
  return i < layers() ? hidden[static_cast<size_t>(i - 1)] : outputs;
}

int64_t MlpSpec::parameters() const noexcept {
  int64_t n = 0;
  for (int64_t i = 0; i < layers(); ++i) n += (in(i) + 1) * out(i);
  return n;
}

void MlpSpec::layout(const std::string& prefix, ParameterLayout& result) const {
  for (int64_t i = 0; i < layers(); ++i) {
    const std::string layer = prefix + "." + std::to_string(i);
    result.push_back({layer + ".weight", {in(i), out(i)}});
    result.push_back({layer + ".bias", {out(i)}});
  }
}

Status MlpSpec::check() const {
  if (inputs < 1) return invalid_argument("a network needs at least one input, got {}", inputs);
  if (outputs < 1) return invalid_argument("a network needs at least one output, got {}", outputs);
  if (hidden.empty() || hidden.size() > 8) {
    return invalid_argument("a network needs 1 to 8 hidden layers, got {}", hidden.size());
  }
  for (const int64_t width : hidden) {
    if (width < 1 || width > 4096) {
      return invalid_argument("a hidden layer has 1 to 4096 units, got {}", width);
    }
  }
  return {};
}

ParameterLayout ActorCriticSpec::layout() const {
  ParameterLayout result;
  actor().layout("actor", result);
  if (!head.discrete()) result.push_back({"log_std", {head.size}});
  critic().layout("critic", result);
  return result;
}

Status ActorCriticSpec::check() const {
  if (head.discrete() && head.size < 2) {
    return invalid_argument("a categorical head needs at least 2 choices, got {}", head.size);
  }
  RETURN_IF_ERROR(actor().check().with_context("actor"));
  return critic().check().with_context("critic");
}

}  // namespace sluice
