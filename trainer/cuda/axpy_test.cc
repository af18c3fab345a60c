#include "trainer/cuda/device.h"

#include <gtest/gtest.h>

#include <vector>

namespace sluice {
namespace {

TEST(CudaAxpy, EqualsItsCpuTwin) {
  const auto library = CudaLibrary::load();
  if (!library.ok()) GTEST_SKIP() << library.status().to_string();
  if (const auto device = library->probe(); !device.ok()) {
    GTEST_SKIP() << device.status().to_string();
  }
  constexpr size_t kCount = 1'000'003;  // more than one stride of the grid, no multiple of a block
  std::vector<float> x(kCount), y(kCount), expected(kCount);
  for (size_t i = 0; i < kCount; ++i) {
    x[i] = static_cast<float>(i % 1024);
    y[i] = static_cast<float>(i % 7);
    expected[i] = 0.5F * x[i] + y[i];  // exact in float, fused or not
  }
  const Status status = library->axpy(0.5F, x, y);
  ASSERT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ(y, expected);
}

}  // namespace
}  // namespace sluice
