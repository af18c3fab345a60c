// Replays what the real Gymnasium did (envs/testdata/make_golden.py).
#include "envs/registry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>

namespace sluice {
namespace {

struct Golden {
  const char* env;
  const char* file;
};

std::vector<std::vector<std::string>> read(const std::string& file) {
  std::ifstream in(SLUICE_SOURCE_DIR "/envs/testdata/" + file);
  std::vector<std::vector<std::string>> rows;
  for (std::string line, cell; std::getline(in, line);) {
    std::istringstream cells(line);
    rows.emplace_back();
    while (std::getline(cells, cell, ',')) rows.back().push_back(cell);
  }
  return rows;
}

// The arithmetic is Gymnasium's, so on one machine the bits agree. The golden machine's C library
// may round sin or cos differently in the last of 53 bits, which can move a float32 by one unit,
// and a value near zero by the error itself.
void expect_same(float got, float want) {
  const float next = std::nextafter(std::abs(want), std::numeric_limits<float>::infinity());
  EXPECT_LE(std::abs(got - want), std::max(next - std::abs(want), 1e-10F)) << got << " " << want;
}

class GoldenTest : public testing::TestWithParam<Golden> {};

TEST_P(GoldenTest, ReplaysGymnasium) {
  const auto rows = read(GetParam().file);
  ASSERT_GT(rows.size(), 500U);
  auto made = make_env(GetParam().env);
  ASSERT_TRUE(made.ok());
  Env& env = **made;
  const size_t width = static_cast<size_t>(env.spec().observation.fields()[0].elements());
  std::vector<float> obs(width);
  void* out = obs.data();
  size_t truncations = 0;
  for (size_t line = 0; line < rows.size(); ++line) {
    SCOPED_TRACE(testing::Message() << GetParam().file << " line " << line + 1);
    const auto& row = rows[line];
    if (row[0] == "reset") {
      std::optional<uint64_t> seed;
      if (row[1] != "-") seed = std::stoull(row[1]);
      ASSERT_TRUE(env.reset(seed, {&out, 1}).ok());
    } else {
      ASSERT_EQ(row.size(), width + 5);
      const int64_t choice = std::atoll(row[1].c_str());
      const float torque = std::strtof(row[1].c_str(), nullptr);
      const bool discrete = env.spec().action.kind == ActionSpec::Kind::Discrete;
      const void* action = discrete ? static_cast<const void*>(&choice) : &torque;
      Transition transition;
      ASSERT_TRUE(env.step(action, {&out, 1}, transition).ok());
      expect_same(transition.reward, std::strtof(row[width + 2].c_str(), nullptr));
      EXPECT_EQ(transition.terminated, row[width + 3] == "1");
      EXPECT_EQ(transition.truncated, row[width + 4] == "1");
      truncations += transition.truncated ? 1 : 0;
    }
    for (size_t i = 0; i < width; ++i)
      expect_same(obs[i], std::strtof(row[2 + i].c_str(), nullptr));
    if (HasFailure()) break;  // what follows only repeats it
  }
  EXPECT_GE(truncations, 2U);
}

INSTANTIATE_TEST_SUITE_P(Classic, GoldenTest,
                         testing::Values(Golden{"CartPole-v1", "cartpole.csv"},
                                         Golden{"Pendulum-v1", "pendulum.csv"}),
                         [](const auto& info) { return std::string(info.param.env, 8); });

// No sin or cos is involved in a start state of CartPole, so here there is no tolerance.
TEST(CartPoleEnv, StartsExactlyWhereGymnasiumDoes) {
  auto env = make_env("CartPole-v1");
  ASSERT_TRUE(env.ok());
  float obs[4];
  void* out = obs;
  size_t starts = 0;
  for (const auto& row : read("cartpole.csv")) {
    if (row[0] != "reset") continue;
    const bool seeded = row[1] != "-";
    const auto seed = seeded ? std::optional<uint64_t>(std::stoull(row[1])) : std::nullopt;
    ASSERT_TRUE((*env)->reset(seed, {&out, 1}).ok());
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(obs[i], std::strtof(row[2 + i].c_str(), nullptr));
    ++starts;
  }
  EXPECT_GT(starts, 20U);
}

TEST(PendulumEnv, ClipsTheTorqueToTheBox) {
  auto clipped = make_env("Pendulum-v1");
  auto exact = make_env("Pendulum-v1");
  ASSERT_TRUE(clipped.ok() && exact.ok());
  float a[3];
  float b[3];
  void* out_a = a;
  void* out_b = b;
  Transition ta;
  Transition tb;
  ASSERT_TRUE((*clipped)->reset(1, {&out_a, 1}).ok());
  ASSERT_TRUE((*exact)->reset(1, {&out_b, 1}).ok());
  for (const auto& [wild, bound] : {std::pair{100.0F, 2.0F}, std::pair{-2.5F, -2.0F}}) {
    ASSERT_TRUE((*clipped)->step(&wild, {&out_a, 1}, ta).ok());
    ASSERT_TRUE((*exact)->step(&bound, {&out_b, 1}, tb).ok());
    EXPECT_EQ(ta.reward, tb.reward);
    EXPECT_EQ(std::memcmp(a, b, sizeof(a)), 0);
  }
}

}  // namespace
}  // namespace sluice
