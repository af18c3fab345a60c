#include "envs/faulty.h"

#include "envs/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <stdexcept>
#include <thread>

namespace sluice {
namespace {

using testing::HasSubstr;

class Faulty : public testing::Test {
 protected:
  void make(const std::string& name) {
    auto made = make_env(name);
    ASSERT_TRUE(made.ok()) << made.status().to_string();
    env_ = *std::move(made);
    ASSERT_TRUE(env_->reset(1, {&slice_, 1}).ok());
  }
  // Walks to and fro, so that no target at a distance of two or more is ever reached.
  Status step() {
    const int64_t action = steps_++ % 2;
    Status status = env_->step(&action, {&slice_, 1}, last_);
    if (last_.terminated) {
      EXPECT_TRUE(env_->reset(std::nullopt, {&slice_, 1}).ok());
    }
    return status;
  }

  std::unique_ptr<Env> env_;
  int64_t steps_ = 0;
  float obs_[4] = {};
  void* slice_ = obs_;
  Transition last_;
};

TEST_F(Faulty, SpoilsOneObservation) {
  make("faulty:nan-obs@3");
  for (int i = 1; i <= 5; ++i) {
    ASSERT_TRUE(step().ok());
    EXPECT_EQ(std::isnan(obs_[0]), i == 3) << i;
  }
}

TEST_F(Faulty, SpoilsOneReward) {
  make("faulty:inf-reward@2");
  for (int i = 1; i <= 4; ++i) {
    ASSERT_TRUE(step().ok());
    EXPECT_EQ(std::isinf(last_.reward), i == 2) << i;
  }
}

TEST_F(Faulty, ThrowsOnce) {
  make("faulty:throw@2");
  EXPECT_TRUE(step().ok());
  EXPECT_THROW((void)step(), std::runtime_error);
  EXPECT_TRUE(step().ok());
}

TEST_F(Faulty, FailsOnce) {
  make("faulty:error@1");
  const Status status = step();
  EXPECT_EQ(status.code(), Code::Internal);
  EXPECT_THAT(status.message(), HasSubstr("faulty:error@1: step 1"));
  EXPECT_TRUE(step().ok());
}

TEST_F(Faulty, HangsUntilReleased) {
  make("faulty:hang@1");
  std::atomic<bool> done{false};
  Status status;
  std::thread hung([&] {
    status = step();
    done = true;
  });
  while (!done) {  // a release that comes before the hang does nothing, so repeat it
    release_hung_envs();
    std::this_thread::yield();
  }
  hung.join();
  EXPECT_EQ(status.code(), Code::DeadlineExceeded);
  EXPECT_TRUE(step().ok());
}

TEST_F(Faulty, IsSaneOtherwise) {
  make("faulty:slow@1");
  EXPECT_EQ(env_->spec().name, "faulty:slow@1");
  EXPECT_EQ(env_->spec().observation, DummyEnv().spec().observation);
  EXPECT_EQ(env_->spec().action, ActionSpec::discrete(2));
  EXPECT_TRUE(step().ok());
}

TEST(Fault, RefusesWhatItCannotRead) {
  for (const char* text : {"", "throw", "throw@", "throw@0", "throw@-1", "throw@1x", "trow@1", "@1",
                           "throw@99999999999999999999"}) {
    const auto env = make_env(std::string("faulty:") + text);
    EXPECT_EQ(env.status().code(), Code::InvalidArgument) << text;
    EXPECT_THAT(env.status().message(), HasSubstr("nan-obs@K, nan-reset@K, inf-reward@K, throw@K"));
  }
}

}  // namespace
}  // namespace sluice
