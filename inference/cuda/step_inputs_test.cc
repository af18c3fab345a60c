#include "inference/cuda/step_inputs.h"

#include "dataflow/base/result.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace sluice {
namespace {

using testing::ElementsAre;

std::vector<int32_t> list(const at::Tensor& x) {
  const at::Tensor flat = x.contiguous();
  const auto* begin = static_cast<const int32_t*>(flat.const_data_ptr());
  return {begin, begin + flat.numel()};
}

/// A prompt's chunk of three tokens behind two, and a decoding sequence with five.
struct Step {
  std::vector<BlockId> first = {4, 2};
  std::vector<BlockId> second = {1, 3, 5};
  PackedBatch batch = pack({{7, 8, 9}, {6}}, {2, 5});
  std::vector<PagedKvCache::Row> rows = {{10, 2, first}, {11, 5, second}};
};

TEST(StepInputs, SayWhereEachTokenGoesAndWhatEachSequenceSees) {
  const Step step;
  const StepShape shape = step_shape(step.batch, step.rows);
  EXPECT_EQ(shape.tokens, 4);
  EXPECT_EQ(shape.width, 3);
  const StepInputs in = StepInputs::over(at::full({shape.size()}, -1, at::kInt), shape);
  write_inputs(step.batch, step.rows, shape, 4, 9, in.all.mutable_data_ptr<int32_t>());
  EXPECT_THAT(list(in.tokens), ElementsAre(7, 8, 9, 6));
  EXPECT_THAT(list(in.positions), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(list(in.slots), ElementsAre(18, 19, 8, 13));
  EXPECT_THAT(list(in.lengths), ElementsAre(5, 6));
  EXPECT_THAT(list(in.tables), ElementsAre(4, 2, 0, 1, 3, 5));
}

TEST(StepInputs, PaddingGoesToTheSpareBlock) {
  const std::vector<BlockId> blocks = {1, 3};
  const PackedBatch batch = pack({{6}}, {5});
  const std::vector<PagedKvCache::Row> rows = {{11, 5, blocks}};
  const StepShape shape{3, 3, 4};
  const StepInputs in = StepInputs::over(at::full({shape.size()}, -1, at::kInt), shape);
  write_inputs(batch, rows, shape, 4, 9, in.all.mutable_data_ptr<int32_t>());
  EXPECT_THAT(list(in.tokens), ElementsAre(6, 0, 0));
  EXPECT_THAT(list(in.slots), ElementsAre(13, 36, 36));
  EXPECT_THAT(list(in.lengths), ElementsAre(6, 1, 1));
  EXPECT_THAT(list(in.tables), ElementsAre(1, 3, 0, 0, 9, 0, 0, 0, 9, 0, 0, 0));
}

TEST(StepInputs, RefuseMoreTokensThanTheBlocksHold) {
  Step step;
  step.rows[0].blocks = step.rows[0].blocks.first(1);
  const StepShape shape = step_shape(step.batch, step.rows);
  std::vector<int32_t> out(static_cast<size_t>(shape.size()));
  EXPECT_THROW(write_inputs(step.batch, step.rows, shape, 4, 9, out.data()), CheckFailure);
}

}  // namespace
}  // namespace sluice
