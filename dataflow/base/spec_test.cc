#include "dataflow/base/spec.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(TensorSpec, CountsElementsAndBytes) {
  EXPECT_EQ((TensorSpec{"obs", DType::F32, {3, 4}}).elements(), 12);
  EXPECT_EQ((TensorSpec{"obs", DType::F32, {3, 4}}).bytes(), 48);
  EXPECT_EQ((TensorSpec{"scalar", DType::I64, {}}).elements(), 1);
  EXPECT_EQ((TensorSpec{"none", DType::U8, {0, 5}}).bytes(), 0);
}

TEST(TensorSpec, TellsNameTypeAndShape) {
  EXPECT_EQ((TensorSpec{"obs", DType::F32, {3, 4}}).to_string(), "obs float32[3, 4]");
  EXPECT_EQ((TensorSpec{"slot", DType::I64, {}}).to_string(), "slot int64[]");
}

TEST(DType, HasSizeAndName) {
  const std::vector<std::pair<DType, int64_t>> sizes{{DType::F32, 4}, {DType::F64, 8},
                                                     {DType::I32, 4}, {DType::I64, 8},
                                                     {DType::U8, 1},  {DType::Bool, 1}};
  for (const auto& [type, size] : sizes) {
    EXPECT_EQ(size_bytes(type), size) << name(type);
    EXPECT_NE(name(type), "unknown");
  }
}

TEST(Schema, FindsColumnsByName) {
  Schema schema{{"a", DType::F32, {2}}, {"b", DType::U8, {}}};
  schema.add({"c", DType::I64, {}});
  EXPECT_EQ(schema.size(), 3U);
  EXPECT_EQ(schema.find("a"), 0);
  EXPECT_EQ(schema.find("c"), 2);
  EXPECT_EQ(schema.find("d"), -1);
  EXPECT_EQ(schema.to_string(), "{a float32[2]; b uint8[]; c int64[]}");
}

TEST(Schema, DiffersByNameTypeShapeAndOrder) {
  const Schema schema{{"a", DType::F32, {2}}, {"b", DType::U8, {}}};
  EXPECT_EQ(schema, (Schema{{"a", DType::F32, {2}}, {"b", DType::U8, {}}}));
  EXPECT_FALSE(schema == (Schema{{"b", DType::U8, {}}, {"a", DType::F32, {2}}}));
  EXPECT_FALSE(schema == (Schema{{"a", DType::F32, {3}}, {"b", DType::U8, {}}}));
  EXPECT_FALSE(schema == (Schema{{"a", DType::F64, {2}}, {"b", DType::U8, {}}}));
}

}  // namespace
}  // namespace sluice
