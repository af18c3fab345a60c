#include "dataflow/base/snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Snapshot example() {
  Snapshot snapshot;
  snapshot.put("text", std::string("a\0b", 3));
  snapshot.put("empty", "");
  snapshot.put_value("step", int64_t{42});
  const std::vector<float> values{1.5F, -2.0F, 0.0F};
  snapshot.put_array("values", std::span(values));
  return snapshot;
}

TEST(Snapshot, RoundTripsEveryBlob) {
  const Snapshot before = example();
  const auto after = Snapshot::decode(before.encode());
  ASSERT_TRUE(after.ok()) << after.status().to_string();
  EXPECT_EQ(after->blobs(), before.blobs());
  int64_t step = 0;
  ASSERT_TRUE(after->get_value("step", step).ok());
  EXPECT_EQ(step, 42);
  std::vector<float> values(3);
  ASSERT_TRUE(after->get_array("values", std::span(values)).ok());
  EXPECT_THAT(values, ElementsAre(1.5F, -2.0F, 0.0F));
  EXPECT_TRUE(after->has("empty"));
}

TEST(Snapshot, EmptyRoundTrips) {
  const auto after = Snapshot::decode(Snapshot().encode());
  ASSERT_TRUE(after.ok());
  EXPECT_TRUE(after->blobs().empty());
}

TEST(Snapshot, EncodingDependsOnContentOnly) {
  Snapshot a;
  a.put("x", "1");
  a.put("y", "2");
  Snapshot b;
  b.put("y", "2");
  b.put("x", "0");
  b.put("x", "1");
  EXPECT_EQ(a.encode(), b.encode());
}

TEST(Snapshot, EveryTruncationIsRefused) {
  const std::string bytes = example().encode();
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto result = Snapshot::decode(std::string_view(bytes).substr(0, size));
    ASSERT_FALSE(result.ok()) << size;
    ASSERT_EQ(result.status().code(), Code::DataLoss);
  }
  EXPECT_FALSE(Snapshot::decode(bytes + "x").ok());
}

TEST(Snapshot, EveryFlippedByteIsRefused) {
  const std::string bytes = example().encode();
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (const int flip : {1, 0x80, 0xff}) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      ASSERT_EQ(Snapshot::decode(damaged).status().code(), Code::DataLoss) << i;
    }
  }
}

TEST(Snapshot, OnlyZeroAndOneAreTruthValues) {
  Snapshot snapshot;
  snapshot.put_value("yes", true);
  snapshot.put_value("odd", uint8_t{2});
  bool out = false;
  ASSERT_TRUE(snapshot.get_value("yes", out).ok());
  EXPECT_TRUE(out);
  EXPECT_EQ(snapshot.get_value("odd", out).code(), Code::DataLoss);
}

TEST(Snapshot, MissingAndMisfittingBlobsAreNamed) {
  const Snapshot snapshot = example();
  int32_t small = 5;
  EXPECT_EQ(snapshot.get("none").status().code(), Code::NotFound);
  EXPECT_THAT(snapshot.get("none").status().message(), HasSubstr("'none'"));
  EXPECT_EQ(snapshot.get_value("step", small).message(),
            "snapshot entry 'step' has 8 bytes, expected 4");
  EXPECT_EQ(small, 5);
}

}  // namespace
}  // namespace sluice
