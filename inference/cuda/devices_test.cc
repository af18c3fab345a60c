#include "inference/cuda/devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace sluice {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Devices, AreNamedAsInLibTorch) {
  EXPECT_EQ(*parse_device("cpu"), at::Device(at::kCPU));
  EXPECT_EQ(*parse_device("cuda"), at::Device(at::kCUDA, 0));
  EXPECT_EQ(*parse_device("cuda:3"), at::Device(at::kCUDA, 3));
  for (const char* wrong :
       {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cuda:300", "CPU"}) {
    EXPECT_EQ(parse_device(wrong).status().code(), Code::InvalidArgument) << wrong;
  }
}

TEST(Devices, TheCpuNeedsNoExecutor) {
  const auto executor = make_executor("cpu");
  ASSERT_TRUE(executor.ok());
  EXPECT_EQ(*executor, nullptr);
}

TEST(Devices, SayInOneLineThatThereIsNoCuda) {
  setenv("SLUICE_INFERENCE_CUDA_LIBRARY", "/nonexistent/lib.so", 1);
  const auto missing = make_executor("cuda");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.status().code(), Code::Unavailable);
  EXPECT_THAT(missing.status().message(), HasSubstr("/nonexistent/lib.so"));
  EXPECT_THAT(missing.status().message(), Not(HasSubstr("\n")));
  setenv("SLUICE_INFERENCE_CUDA_LIBRARY", "libm.so.6", 1);
  EXPECT_EQ(make_executor("cuda").status().code(), Code::FailedPrecondition);
  unsetenv("SLUICE_INFERENCE_CUDA_LIBRARY");
}

#ifdef SLUICE_HAS_CUDA
// With the wheels and a GPU it loads; without either it says in one line what is missing.
TEST(Devices, TheGpuLibraryLoadsOrSaysWhatItLacks) {
  const auto backend = load_cuda_backend(0);
  if (backend.ok()) {
    EXPECT_TRUE((*backend)->device().is_cuda());
    return;
  }
  EXPECT_EQ(backend.status().code(), Code::Unavailable);
  EXPECT_THAT(backend.status().message(), Not(HasSubstr("undefined symbol")));
  EXPECT_THAT(backend.status().message(), Not(HasSubstr("\n")));
}
#endif

}  // namespace
}  // namespace sluice
