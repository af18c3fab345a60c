#pragma once
#include "envs/dummy.h"

namespace sluice {

/// What goes wrong in a FaultyEnv, and when. `at` counts the steps (or resets) of one object from
/// 1, over all its episodes; load() does not change the count, so a copy made after a failure fails
/// again.
struct Fault {
  enum class Kind : uint8_t {
    None,
    NanObs,     ///< "nan-obs@K": the observation of step K is NaN
    NanReset,   ///< "nan-reset@K": the observation of reset K is NaN
    InfReward,  ///< "inf-reward@K": the reward of step K is infinite
    Throw,      ///< "throw@K": step K throws std::runtime_error
    Error,      ///< "error@K": step K returns Internal
    Hang,       ///< "hang@K": step K blocks for 60 s or until release_hung_envs()
    Slow,       ///< "slow@US": every step busy-waits so many microseconds
  };
  Kind kind = Kind::None;
  int64_t at = 0;

  /// Reads "KIND@NUMBER"; InvalidArgument lists the kinds.
  static Result<Fault> parse(std::string_view text);
};

/// A DummyEnv that misbehaves on purpose, to test what surrounds an environment: made by
/// `make_env("faulty:throw@100")`. Plain "faulty" is sane.
class FaultyEnv final : public Env {
 public:
  FaultyEnv(const std::string& name, Fault fault) : fault_(fault), sane_(name) {}

  [[nodiscard]] const EnvSpec& spec() const noexcept override { return sane_.spec(); }
  Status reset(std::optional<uint64_t> seed, ObservationOut observation) override;
  Status step(const void* action, ObservationOut observation, Transition& out) override;
  [[nodiscard]] std::string save() const override { return sane_.save(); }
  Status load(std::string_view state) override { return sane_.load(state); }

 private:
  Fault fault_;
  int64_t steps_ = 0;
  int64_t resets_ = 0;
  DummyEnv sane_;
};

/// Makes every step() that hangs now return DeadlineExceeded within milliseconds, so that a test
/// can join its threads. Steps that hang later are not affected. Any thread.
void release_hung_envs() noexcept;

}  // namespace sluice
