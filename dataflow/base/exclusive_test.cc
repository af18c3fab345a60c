#include "dataflow/base/exclusive.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace sluice {
namespace {

TEST(Exclusive, OneThreadAtATimeUsesTheValue) {
  Exclusive<std::vector<int>> values(3, 7);  // as std::vector(3, 7)
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&values] {
        for (int i = 0; i < 500; ++i) values.use([](auto& v) { v.push_back(0); });
      });
    }
  }
  EXPECT_EQ(values.use([](const auto& v) { return v.size(); }), 2003U);
}

}  // namespace
}  // namespace sluice
