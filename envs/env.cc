#include "envs/env.h"

namespace sluice {

int64_t ActionSpec::bytes() const noexcept {
  if (kind == Kind::Discrete) return size_bytes(DType::I64);
  int64_t bytes = size_bytes(DType::F32);
  for (int64_t size : shape) bytes *= size;
  return bytes;
}

ObservationRow::ObservationRow(const Schema& observation) : size_(observation.size()) {
  SLUICE_CHECK(size_ <= kMaxObservationTensors) << observation.to_string();
  for (size_t f = 0; f < size_; ++f) bytes_[f] = observation.fields()[f].bytes();
}

ObservationOut ObservationRow::at(ObservationOut fields, int64_t row) noexcept {
  for (size_t f = 0; f < size_; ++f) {
    slices_[f] = static_cast<char*>(fields[f]) + row * bytes_[f];
  }
  return {slices_.data(), size_};
}

Status step_all(std::span<Env* const> envs, const void* actions, ObservationOut fields,
                std::span<Transition> out) {
  if (envs.empty()) return {};
  const EnvSpec& spec = envs[0]->spec();
  if (out.size() < envs.size() || fields.size() != spec.observation.size()) {
    return invalid_argument(
        "step_all: {} environments of {} observation tensors got {} transitions and {} columns",
        envs.size(), spec.observation.size(), out.size(), fields.size());
  }
  ObservationRow row(spec.observation);
  const int64_t action_bytes = spec.action.bytes();
  const char* action = static_cast<const char*>(actions);
  for (size_t i = 0; i < envs.size(); ++i, action += action_bytes) {
    Status status = envs[i]->step(action, row.at(fields, static_cast<int64_t>(i)), out[i]);
    if (!status.ok()) return status.with_context(fmt::format("environment {}", i));
  }
  return {};
}

}  // namespace sluice
