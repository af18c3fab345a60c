#include "envs/null_env.h"

#include "envs/checks.h"
#include "envs/state_blob.h"

#include <array>
#include <cstring>

namespace sluice {
namespace {

constexpr const char* kName = "null";
constexpr int64_t kWidth = 32;
constexpr int64_t kActions = 4;

void write_zeros(ObservationOut observation) noexcept {
  // In pieces: g++ makes one large memset a `rep stos`, whose start-up costs more than the rest.
  constexpr std::array<char, 16> kZeros{};
  char* out = static_cast<char*>(observation[0]);
  for (size_t i = 0; i < kWidth * sizeof(float); i += sizeof(kZeros)) {
    std::memcpy(out + i, kZeros.data(), sizeof(kZeros));
  }
}

}  // namespace

const EnvSpec& NullEnv::spec() const noexcept {
  static const EnvSpec spec{kName,
                            {TensorSpec{"obs", DType::F32, {kWidth}}},
                            ActionSpec::discrete(kActions),
                            0,
                            std::nullopt};
  return spec;
}

Status NullEnv::reset(std::optional<uint64_t> /*seed*/, ObservationOut observation) {
  running_ = 1;
  write_zeros(observation);
  return {};
}

Status NullEnv::step(const void* action, ObservationOut observation, Transition& out) {
  int64_t choice = 0;
  std::memcpy(&choice, action, sizeof(choice));
  if (running_ == 0) [[unlikely]]
    return no_episode(kName);
  if (choice < 0 || choice >= kActions) [[unlikely]] {
    return bad_discrete_action(kName, choice, kActions);
  }
  write_zeros(observation);
  out = {};
  return {};
}

std::string NullEnv::save() const { return pack_state(kName, running_); }

Status NullEnv::load(std::string_view state) { return unpack_state(kName, state, running_); }

}  // namespace sluice
