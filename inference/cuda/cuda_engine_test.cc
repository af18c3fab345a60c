// Whole engines on the GPU against engines on the CPU.
#include "inference/cuda/device_support.h"
#include "inference/cuda/devices.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

using namespace engine_support;  // NOLINT(google-build-using-namespace)
using device_support::expect_same;
using device_support::on;
using device_support::on_the_cpu;
using device_support::run_mixture;

// fp32 on both: sums are taken in other orders.
constexpr double kTolerance = 1e-3;

class CudaEngine : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const auto loaded = make_executor("cuda");
    // No GPU, or no CUDA: scripts/gpu_check.sh calls that a failure. Anything else fails here.
    if (loaded.status().code() == Code::Unavailable) GTEST_SKIP() << loaded.status().message();
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  }
};

TEST_P(CudaEngine, GeneratesAsOnTheCpuWithAndWithoutGraphs) {
  const Transformer m = model(GetParam());
  const auto want = on_the_cpu(m, m.parameters());
  for (const bool graphs : {false, true}) {
    const auto executor = make_executor("cuda", {graphs, 256});
    ASSERT_TRUE(executor.ok()) << executor.status().message();
    Runner runner(m, on(*executor));
    expect_same(run_mixture(runner), want, kTolerance);
    const bool records = graphs && m.config().experts.count == 0 &&
                         m.config().layers.front().mixer == MixerKind::Attention;
    EXPECT_EQ((*executor)->stats().replays > 0, records);
  }
}

TEST_P(CudaEngine, NewWeightsServeWithoutRecordingAnew) {
  const Transformer m = model(GetParam());
  const Parameters second = other_weights(m, 2);
  const auto executor = make_executor("cuda");
  ASSERT_TRUE(executor.ok()) << executor.status().message();
  Runner runner(m, on(*executor));
  run_mixture(runner);
  const auto captures = (*executor)->stats().captures;
  ASSERT_TRUE(runner.engine().swap_weights(second, kVersion2, SwapMode::Resume).ok());
  expect_same(run_mixture(runner), on_the_cpu(m, second), kTolerance);
  EXPECT_EQ((*executor)->stats().captures, captures);
}

INSTANTIATE_TEST_SUITE_P(Architectures, CudaEngine,
                         testing::Values("mistral", "qwen3", "gemma2", "gpt2", "qwen3_moe",
                                         "qwen3_next"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace sluice
