#include "trainer/cuda/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace sluice {
namespace {

TEST(CudaLibrary, SaysWhichFileIsMissing) {
  const auto library = CudaLibrary::load("/nonexistent/libsluice_cuda.so");
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.status().code(), Code::Unavailable);
  EXPECT_THAT(library.status().message(), testing::HasSubstr("/nonexistent/libsluice_cuda.so"));
}

TEST(CudaLibrary, RefusesAForeignLibrary) {
  const auto library = CudaLibrary::load("libm.so.6");
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.status().code(), Code::FailedPrecondition);
}

#ifdef SLUICE_HAS_CUDA
TEST(CudaLibrary, LoadsWithoutADriver) {
  const auto library = CudaLibrary::load();
  ASSERT_TRUE(library.ok()) << library.status().to_string();
  const auto device = library->probe();
  if (!device.ok()) {
    EXPECT_THAT(device.status().message(), testing::StartsWith("no usable GPU: "));
  } else {
    EXPECT_GT(device->memory_bytes, 0);
  }
}

TEST(CudaLibrary, RefusesArraysOfDifferentLengths) {
  const auto library = CudaLibrary::load();
  ASSERT_TRUE(library.ok()) << library.status().to_string();
  const std::vector<float> x(3);
  std::vector<float> y(4);
  EXPECT_EQ(library->axpy(1.0F, x, y).code(), Code::InvalidArgument);
}
#endif

}  // namespace
}  // namespace sluice
