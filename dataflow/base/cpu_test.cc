#include "dataflow/base/cpu.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(Cpu, ThePlainVariantAlwaysRunsAndTheActiveOneIsSupported) {
  EXPECT_TRUE(supported(Isa::Plain));
  EXPECT_TRUE(supported(active_isa()));
  EXPECT_EQ(name(Isa::Avx512), "avx512");
}

}  // namespace
}  // namespace sluice
