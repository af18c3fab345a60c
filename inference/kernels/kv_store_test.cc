#include "inference/kernels/kv_store.h"

#include "dataflow/base/random.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <vector>

namespace sluice {
namespace {

struct StoredRow {
  explicit StoredRow(KvFormat f, const std::vector<float>& x)
      : format(f), bytes(x.size() * 4, 0x55), dim(static_cast<int64_t>(x.size())) {
    store_kv(format, x.data(), dim, bytes.data(), &factor);
  }
  std::vector<float> floats() const {
    std::vector<float> out(static_cast<size_t>(dim), 99.0F);
    load_kv(format, bytes.data(), &factor, dim, out.data());
    return out;
  }
  KvFormat format;
  std::vector<uint8_t> bytes;
  int64_t dim;
  float factor = -1;
};

std::vector<float> random_row(int64_t dim, uint64_t seed) {
  std::vector<float> x(static_cast<size_t>(dim));
  for (size_t i = 0; i < x.size(); ++i) x[i] = 3 * RandomKey(seed).normal(i)[0];
  return x;
}

TEST(KvStore, ComesBackUpToTheFormatsRounding) {
  for (const int64_t dim : {1, 7, 64, 80}) {
    const auto x = random_row(dim, static_cast<uint64_t>(dim));
    float largest = 0;
    for (const float v : x) largest = std::max(largest, std::fabs(v));
    EXPECT_EQ(StoredRow(KvFormat::Fp32, x).floats(), x);
    const auto half = StoredRow(KvFormat::Bf16, x).floats();
    const StoredRow bytes(KvFormat::Int8, x);
    const auto eighth = bytes.floats();
    EXPECT_EQ(bytes.factor, largest / 127);
    bool exact = true;
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_NEAR(half[i], x[i], std::fabs(x[i]) / 256) << i;
      EXPECT_NEAR(eighth[i], x[i], largest / 254 * 1.001F) << i;
      exact = exact && half[i] == x[i];
    }
    EXPECT_FALSE(exact && dim > 1) << "bf16 rounds nothing";
  }
}

TEST(KvStore, Bf16RoundsToNearestEven) {
  // 1 + 2^-8 lies between two bf16, as does 1 + 3 * 2^-8: each goes to the even one.
  const StoredRow row(KvFormat::Bf16, {1.00390625F, 1.01171875F, -1.00390625F});
  EXPECT_EQ(row.floats(), (std::vector<float>{1.0F, 1.015625F, -1.0F}));
}

TEST(KvStore, AnInt8RowOfZerosOrOfNothingMuchIsZero) {
  for (const float x : {0.0F, -0.0F, 1e-38F, std::numeric_limits<float>::denorm_min()}) {
    const StoredRow row(KvFormat::Int8, std::vector<float>(5, x));
    EXPECT_EQ(row.floats(), std::vector<float>(5, 0.0F)) << x;
  }
}

TEST(KvStore, WhatIsNotANumberIsSeen) {
  for (const float x :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    auto values = random_row(8, 3);
    values[5] = x;
    for (const float v : StoredRow(KvFormat::Int8, values).floats()) EXPECT_TRUE(std::isnan(v));
    const auto half = StoredRow(KvFormat::Bf16, values).floats();
    EXPECT_FALSE(std::isfinite(half[5]));
    EXPECT_TRUE(std::isfinite(half[4]));
  }
}

}  // namespace
}  // namespace sluice
