#include "envs/dummy.h"

#include "envs/checks.h"
#include "envs/state_blob.h"

#include <cstring>

namespace sluice {
namespace {

constexpr int64_t kMaxSteps = 50;
constexpr int64_t kFarthest = 5;

}  // namespace

// [spec]
// 2. What a graph must know before it runs. Nothing here may change later.
DummyEnv::DummyEnv(std::string name)
    : spec_{std::move(name),
            {TensorSpec{"obs", DType::F32, {4}}},
            ActionSpec::discrete(2),
            kMaxSteps,
            std::nullopt} {}
// [/spec]

// [reset]
// 3. Draw the start state. All randomness comes from the generator in the state: a seed restarts
// it, no seed goes on with it. That is what makes runs repeat.
Status DummyEnv::reset(std::optional<uint64_t> seed, ObservationOut observation) {
  Pcg64 generator = seed ? Pcg64(*seed) : Pcg64(state_.generator);
  const auto distance = 1 + static_cast<int64_t>(generator.next() % kFarthest);
  state_.position = 0;
  state_.target = generator.uniform() < 0.5 ? -distance : distance;
  state_.generator = generator.state();
  state_.steps = 0;
  state_.running = 1;
  observe(observation);
  return {};
}
// [/reset]

// [step]
// 4. Check first, then change: a refused step leaves no trace. An end that the task itself defines
// is `terminated`; running out of time is `truncated`; both may be set.
Status DummyEnv::step(const void* action, ObservationOut observation, Transition& out) {
  int64_t choice = 0;
  std::memcpy(&choice, action, sizeof(choice));
  if (state_.running == 0) return no_episode(spec_.name);
  if (choice < 0 || choice > 1) return bad_discrete_action(spec_.name, choice, 2);

  state_.position += choice == 1 ? 1 : -1;
  ++state_.steps;
  out.terminated = state_.position == state_.target;
  out.truncated = state_.steps >= kMaxSteps;
  out.reward = out.terminated ? 1.0F : -0.1F;
  state_.running = out.terminated || out.truncated ? 0 : 1;
  observe(observation);
  return {};
}
// [/step]

// [observe]
// 5. Write every element of every observation tensor, and nothing beyond.
void DummyEnv::observe(ObservationOut observation) const noexcept {
  const float values[] = {static_cast<float>(state_.position), static_cast<float>(state_.target),
                          static_cast<float>(state_.target - state_.position),
                          static_cast<float>(state_.steps) / kMaxSteps};
  std::memcpy(observation[0], values, sizeof(values));
}
// [/observe]

std::string DummyEnv::save() const { return pack_state(spec_.name, state_); }

Status DummyEnv::load(std::string_view state) { return unpack_state(spec_.name, state, state_); }

}  // namespace sluice
