#include "envs/faulty.h"

#include <atomic>
#include <charconv>
#include <chrono>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <thread>

namespace sluice {
namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr std::chrono::seconds kHang{60};

struct KindName {
  std::string_view name;
  Fault::Kind kind;
};
constexpr KindName kKinds[] = {
    {"nan-obs", Fault::Kind::NanObs},
    {"nan-reset", Fault::Kind::NanReset},
    {"inf-reward", Fault::Kind::InfReward},
    {"throw", Fault::Kind::Throw},
    {"error", Fault::Kind::Error},
    {"hang", Fault::Kind::Hang},
    {"slow", Fault::Kind::Slow},
};

std::atomic<uint64_t> releases{0};

// Polls instead of waiting on a condition: nothing outside knows which object hangs.
Status hang(std::string_view env) {
  const uint64_t before = releases.load();
  const auto deadline = SteadyClock::now() + kHang;
  while (releases.load() == before && SteadyClock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return error(Code::DeadlineExceeded, "{}: the step hung, as asked", env);
}

void spoil(ObservationOut observation) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(observation[0], &nan, sizeof(nan));
}

void spin(std::chrono::microseconds time) {
  const auto end = SteadyClock::now() + time;
  while (SteadyClock::now() < end) {
  }
}

}  // namespace

Result<Fault> Fault::parse(std::string_view text) {
  const size_t split = text.find('@');
  if (split != std::string_view::npos) {
    const std::string_view number = text.substr(split + 1);
    int64_t at = 0;
    const auto [end, code] = std::from_chars(number.data(), number.data() + number.size(), at);
    const bool valid = code == std::errc{} && end == number.data() + number.size() && at > 0;
    for (const KindName& known : kKinds) {
      if (valid && known.name == text.substr(0, split)) return Fault{known.kind, at};
    }
  }
  std::vector<std::string> forms;
  for (const KindName& known : kKinds) {
    forms.push_back(fmt::format("{}@{}", known.name, known.kind == Kind::Slow ? "US" : "K"));
  }
  return invalid_argument("'{}' is no fault; a fault is one of {}, with K or US at least 1", text,
                          fmt::join(forms, ", "));
}

Status FaultyEnv::reset(std::optional<uint64_t> seed, ObservationOut observation) {
  RETURN_IF_ERROR(sane_.reset(seed, observation));
  if (fault_.kind == Fault::Kind::NanReset && ++resets_ == fault_.at) spoil(observation);
  return {};
}

Status FaultyEnv::step(const void* action, ObservationOut observation, Transition& out) {
  ++steps_;
  if (fault_.kind == Fault::Kind::Slow) spin(std::chrono::microseconds(fault_.at));
  const bool now = steps_ == fault_.at;
  if (now) {
    const std::string& name = spec().name;
    if (fault_.kind == Fault::Kind::Throw) {
      throw std::runtime_error(fmt::format("{}: step {} throws, as asked", name, steps_));
    }
    if (fault_.kind == Fault::Kind::Error) {
      return error(Code::Internal, "{}: step {} fails, as asked", name, steps_);
    }
    if (fault_.kind == Fault::Kind::Hang) return hang(name);
  }
  RETURN_IF_ERROR(sane_.step(action, observation, out));
  if (now && fault_.kind == Fault::Kind::NanObs) spoil(observation);
  if (now && fault_.kind == Fault::Kind::InfReward) {
    out.reward = std::numeric_limits<float>::infinity();
  }
  return {};
}

void release_hung_envs() noexcept { releases.fetch_add(1); }

}  // namespace sluice
