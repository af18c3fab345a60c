#include "envs/pcg64.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace sluice {
namespace {

// Lines of SEED, 3 raw words, 3 uniforms, from the real NumPy (envs/testdata/make_golden.py).
TEST(Pcg64, GivesTheNumbersOfNumPy) {
  std::ifstream in(SLUICE_SOURCE_DIR "/envs/testdata/pcg64.csv");
  size_t seeds = 0;
  for (std::string line, cell; std::getline(in, line); ++seeds) {
    std::vector<std::string> row;
    for (std::istringstream cells(line); std::getline(cells, cell, ',');) row.push_back(cell);
    ASSERT_EQ(row.size(), 7U);
    SCOPED_TRACE("seed " + row[0]);
    Pcg64 raw(std::stoull(row[0]));
    for (size_t i = 1; i <= 3; ++i) EXPECT_EQ(raw.next(), std::stoull(row[i]));
    Pcg64 uniform(std::stoull(row[0]));
    for (size_t i = 4; i <= 6; ++i) {
      EXPECT_EQ(uniform.uniform(-0.05, 0.05), std::strtod(row[i].c_str(), nullptr));
    }
  }
  EXPECT_EQ(seeds, 8U);
}

TEST(Pcg64, GoesOnFromASavedState) {
  Pcg64 original(9);
  original.next();
  Pcg64 restored(original.state());
  EXPECT_EQ(restored.state(), original.state());
  for (int i = 0; i < 10; ++i) EXPECT_EQ(restored.next(), original.next());
  EXPECT_EQ(restored.state(), original.state());
}

TEST(Pcg64, DrawsUniformsInTheHalfOpenInterval) {
  Pcg64 generator(4);
  double sum = 0;
  for (int i = 0; i < 10000; ++i) {
    const double value = generator.uniform(2, 5);
    ASSERT_GE(value, 2);
    ASSERT_LT(value, 5);
    sum += value;
  }
  EXPECT_NEAR(sum / 10000, 3.5, 0.05);  // six standard errors
}

}  // namespace
}  // namespace sluice
