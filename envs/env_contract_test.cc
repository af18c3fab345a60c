// What every environment promises (envs/env.h), checked for all that are registered.
#include "envs/checks.h"
#include "envs/pcg64.h"
#include "envs/registry.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace sluice {
namespace {

constexpr size_t kGuard = 64;
constexpr int kSteps = 700;  // past every time limit here

/// The built-in ones: other tests in this process register theirs later.
const std::vector<std::string>& names() {
  static const std::vector<std::string> names = env_names();
  return names;
}

/// One environment, the buffers around it and a stream of legal actions.
class Driver {
 public:
  explicit Driver(const std::string& name, char fill = '\x5a') : fill_(fill) {
    auto made = make_env(name);
    SLUICE_CHECK(made.ok()) << made.status().to_string();
    env_ = *std::move(made);
    for (const TensorSpec& field : spec().observation.fields()) {
      buffers_.emplace_back(static_cast<size_t>(field.bytes()) + 2 * kGuard, fill_);
      slices_.push_back(buffers_.back().data() + kGuard);
    }
    action_.resize(static_cast<size_t>(spec().action.bytes()));
  }

  Env& env() { return *env_; }
  const EnvSpec& spec() { return env_->spec(); }
  Status reset(std::optional<uint64_t> seed) { return env_->reset(seed, slices_); }

  void choose(Pcg64& actions) {
    if (spec().action.kind == ActionSpec::Kind::Discrete) {
      const auto n = static_cast<uint64_t>(spec().action.n);
      set(static_cast<int64_t>(actions.next() % n));
      return;
    }
    for (size_t at = 0; at < action_.size(); at += sizeof(float)) {
      set(static_cast<float>(actions.uniform(spec().action.low, spec().action.high)), at);
    }
  }
  template <class T>
  void set(T value, size_t at = 0) {
    std::memcpy(action_.data() + at, &value, sizeof(value));
  }
  Status step() { return env_->step(action_.data(), slices_, last_); }

  /// Takes a random step, or resets when the episode is over; what was seen, as bytes.
  std::string advance(Pcg64& actions) {
    for (auto& buffer : buffers_) std::fill(buffer.begin(), buffer.end(), fill_);
    if (ended()) {
      last_ = {};
      EXPECT_TRUE(reset(std::nullopt).ok());
    } else {
      choose(actions);
      last_ = {std::numeric_limits<float>::quiet_NaN(), true, true};
      EXPECT_TRUE(step().ok());
    }
    std::string seen(sizeof(float), '\0');
    std::memcpy(seen.data(), &last_.reward, sizeof(float));
    seen += last_.terminated ? 'T' : '-';
    seen += last_.truncated ? 'L' : '-';
    for (const auto& buffer : buffers_) {
      const std::string guard(kGuard, fill_);
      EXPECT_EQ(buffer.substr(0, kGuard), guard);
      EXPECT_EQ(buffer.substr(buffer.size() - kGuard), guard);
      seen += buffer.substr(kGuard, buffer.size() - 2 * kGuard);
    }
    return seen;
  }
  [[nodiscard]] bool ended() const { return last_.terminated || last_.truncated; }
  [[nodiscard]] const Transition& last() const { return last_; }

 private:
  char fill_;
  std::unique_ptr<Env> env_;
  std::vector<std::string> buffers_;
  std::vector<void*> slices_;
  std::vector<char> action_;
  Transition last_;
};

class EnvContract : public testing::TestWithParam<std::string> {};

TEST_P(EnvContract, HasAConsistentSpec) {
  const auto spec = env_spec(GetParam());
  ASSERT_TRUE(spec.ok()) << spec.status().to_string();
  EXPECT_EQ(spec->name, GetParam());
  EXPECT_EQ(spec->action.bytes(), spec->action.tensor().bytes());
  Driver driver(GetParam());
  EXPECT_EQ(driver.spec(), *spec);
}

// Different fills show both a byte outside the slices and one inside that was left unwritten.
TEST_P(EnvContract, RepeatsFromASeedAndWritesExactlyItsSlices) {
  Driver first(GetParam(), '\x5a');
  Driver second(GetParam(), '\xa5');
  ASSERT_TRUE(first.reset(7).ok());
  ASSERT_TRUE(second.reset(7).ok());
  Pcg64 first_actions(1);
  Pcg64 second_actions(1);
  for (int i = 0; i < kSteps; ++i) {
    ASSERT_EQ(first.advance(first_actions), second.advance(second_actions)) << "at step " << i;
  }
  // Whatever happened before, a seed starts again from the same place.
  Driver fresh(GetParam());
  ASSERT_TRUE(first.reset(7).ok());
  ASSERT_TRUE(fresh.reset(7).ok());
  EXPECT_EQ(first.env().save(), fresh.env().save());
}

TEST_P(EnvContract, UnseededStartsLikeSeedZero) {
  Driver unseeded(GetParam());
  Driver zero(GetParam());
  ASSERT_TRUE(unseeded.reset(std::nullopt).ok());
  ASSERT_TRUE(zero.reset(0).ok());
  EXPECT_EQ(unseeded.env().save(), zero.env().save());
}

TEST_P(EnvContract, GoesOnBitForBitAfterSaveAndLoad) {
  Driver original(GetParam());
  ASSERT_TRUE(original.reset(3).ok());
  Pcg64 actions(2);
  for (int i = 0; i < kSteps; ++i) {
    if (i % 61 == 5 && !original.ended()) {  // now and then, continue both from here
      Driver copy(GetParam());
      ASSERT_TRUE(copy.env().load(original.env().save()).ok());
      Driver other(GetParam());
      ASSERT_TRUE(other.env().load(original.env().save()).ok());
      Pcg64 a(actions.state());
      Pcg64 b(actions.state());
      for (int k = 0; k < 60; ++k) ASSERT_EQ(copy.advance(a), other.advance(b));
      Pcg64 c(actions.state());
      Driver behind(GetParam());
      ASSERT_TRUE(behind.env().load(original.env().save()).ok());
      ASSERT_EQ(behind.advance(c), original.advance(actions)) << "at step " << i;
      ASSERT_EQ(behind.env().save(), original.env().save());
    } else {
      original.advance(actions);
    }
  }
}

TEST_P(EnvContract, RefusesAForeignOrDamagedStateAndKeepsItsOwn) {
  Driver driver(GetParam());
  ASSERT_TRUE(driver.reset(3).ok());
  const std::string state = driver.env().save();
  std::vector<std::string> bad{"", "garbage", state + "x", state.substr(0, state.size() - 1),
                               std::string(state.size(), '\0')};
  for (size_t i = 0; i < state.size(); ++i) {
    bad.push_back(state);
    bad.back()[i] = static_cast<char>(bad.back()[i] ^ 4);
  }
  for (const std::string& name : names()) {
    if (name != GetParam()) bad.push_back(Driver(name).env().save());
  }
  for (const std::string& bytes : bad) {
    const Status status = driver.env().load(bytes);
    EXPECT_EQ(status.code(), Code::DataLoss);
    EXPECT_NE(status.message().find(GetParam()), std::string::npos) << status.to_string();
    ASSERT_EQ(driver.env().save(), state);
  }
}

TEST_P(EnvContract, RefusesAStepWithoutAnEpisode) {
  Driver driver(GetParam());
  Pcg64 actions(5);
  driver.choose(actions);
  EXPECT_EQ(driver.step().code(), Code::FailedPrecondition);
  ASSERT_TRUE(driver.reset(1).ok());
  const int64_t limit = driver.spec().max_episode_steps;
  int64_t steps = 0;
  while (!driver.ended() && steps < kSteps) {
    driver.advance(actions);
    ++steps;
  }
  ASSERT_EQ(driver.ended(), limit > 0 || driver.last().terminated) << "after " << steps;
  if (!driver.ended()) return;  // some never end
  EXPECT_LE(steps, limit);
  const std::string state = driver.env().save();
  EXPECT_EQ(driver.step().code(), Code::FailedPrecondition);
  EXPECT_EQ(driver.env().save(), state);
  ASSERT_TRUE(driver.reset(std::nullopt).ok());
  EXPECT_TRUE(driver.step().ok());
}

TEST_P(EnvContract, RefusesActionsThatMakeNoSenseAndKeepsItsState) {
  Driver driver(GetParam());
  Pcg64 actions(6);
  ASSERT_TRUE(driver.reset(1).ok());
  const std::string state = driver.env().save();
  auto refused = [&] {
    const Status status = driver.step();
    EXPECT_EQ(status.code(), Code::InvalidArgument) << status.to_string();
    EXPECT_EQ(driver.env().save(), state);
  };
  if (driver.spec().action.kind == ActionSpec::Kind::Discrete) {
    const int64_t n = driver.spec().action.n;
    for (int64_t action : {int64_t{-1}, n, std::numeric_limits<int64_t>::max()}) {
      driver.set(action);
      refused();
    }
  } else {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const auto bytes = static_cast<size_t>(driver.spec().action.bytes());
    for (size_t at = 0; at < bytes; at += sizeof(float)) {
      for (float value : {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity}) {
        driver.choose(actions);
        driver.set(value, at);
        refused();
      }
    }
  }
  driver.choose(actions);
  EXPECT_TRUE(driver.step().ok());
}

INSTANTIATE_TEST_SUITE_P(Registered, EnvContract, testing::ValuesIn(names()), [](const auto& info) {
  std::string name = info.param;
  for (char& c : name) c = std::isalnum(c) != 0 ? c : '_';
  return name;
});

}  // namespace
}  // namespace sluice
