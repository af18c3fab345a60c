#include "dataflow/base/result.h"
#include "dataflow/types/batch.h"
#include "dataflow/types/control.h"
#include "dataflow/types/payload.h"
#include "dataflow/types/pool.h"
#include "dataflow/types/trajectory.h"
#include "dataflow/types/weights.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

namespace sluice {
namespace {

using ::testing::ElementsAre;

const Schema kSchema{{"obs", DType::F32, {2, 3}}, {"flag", DType::U8, {}}};

std::vector<std::string> names(const Schema& schema) {
  std::vector<std::string> out;
  for (const auto& field : schema.fields()) out.push_back(field.name);
  return out;
}

TEST(Batch, HasContiguousZeroedColumnsOfItsSchema) {
  const Batch batch(kSchema, 5);
  EXPECT_EQ(batch.rows(), 5);
  EXPECT_THAT(batch.column(0).sizes().vec(), ElementsAre(5, 2, 3));
  EXPECT_THAT(batch.column("flag").sizes().vec(), ElementsAre(5));
  EXPECT_EQ(batch.column("flag").scalar_type(), at::kByte);
  EXPECT_TRUE(batch.column(0).is_contiguous());
  EXPECT_EQ(batch.column(0).abs().sum().item<float>(), 0.0F);
  EXPECT_EQ(batch.row_bytes(0), 24);
  EXPECT_EQ(batch.bytes(), 5 * (24 + 1));
}

TEST(Batch, EveryDtypeFitsItsTensor) {
  for (const DType type :
       {DType::F32, DType::F64, DType::I32, DType::I64, DType::U8, DType::Bool}) {
    const Batch batch(Schema{{"x", type, {3}}}, 2);
    EXPECT_EQ(static_cast<int64_t>(batch.column(0).nbytes()), batch.bytes()) << name(type);
  }
}

TEST(Batch, DataWritesIntoTheTensor) {
  Batch batch(kSchema, 2);
  batch.data<float>(0)[7] = 4.5F;
  EXPECT_EQ(batch.column("obs").index({1, 0, 1}).item<float>(), 4.5F);
}

TEST(Batch, WrongElementSizeNameOrColumnFailsACheck) {
  Batch batch(kSchema, 2);
  EXPECT_THROW((void)batch.data<double>(0), CheckFailure);
  EXPECT_THROW((void)batch.data<float>(2), CheckFailure);
  EXPECT_THROW((void)batch.data<float>(-1), CheckFailure);
  EXPECT_THROW((void)batch.column("none"), CheckFailure);
  EXPECT_NO_THROW((void)batch.data<uint8_t>(0)) << "bytes are always allowed";
}

TEST(Batch, MovesKeepTheMemoryAndClonesAreCounted) {
  Batch batch(kSchema, 2);
  const float* data = batch.data<float>(0);
  const int64_t before = Batch::clones();
  Batch moved = std::move(batch);
  EXPECT_EQ(moved.data<float>(0), data);
  EXPECT_EQ(Batch::clones(), before);
  moved.data<float>(0)[0] = 3;
  Batch copy = moved.clone();
  EXPECT_EQ(Batch::clones(), before + 1);
  EXPECT_NE(copy.data<float>(0), data);
  EXPECT_EQ(copy.data<float>(0)[0], 3);
  copy.data<float>(0)[0] = 9;
  EXPECT_EQ(moved.data<float>(0)[0], 3);
}

TEST(Pool, ReturnsUsedObjects) {
  int made = 0;
  Pool<std::vector<int>> pool([&] {
    ++made;
    return std::make_unique<std::vector<int>>();
  });
  const std::vector<int>* first = nullptr;
  {
    const auto a = pool.acquire();
    const auto b = pool.acquire();
    EXPECT_NE(a.get(), b.get());
    first = a.get();
    const auto second_reference = a;
  }
  EXPECT_EQ(made, 2);
  const auto c = pool.acquire();
  const auto d = pool.acquire();
  EXPECT_EQ(made, 2);
  EXPECT_TRUE(c.get() == first || d.get() == first);
}

TEST(Pool, MayDieBeforeItsObjects) {
  std::shared_ptr<std::vector<int>> survivor;
  {
    Pool<std::vector<int>> pool([] { return std::make_unique<std::vector<int>>(3, 7); });
    survivor = pool.acquire();
  }
  EXPECT_THAT(*survivor, ElementsAre(7, 7, 7));
}

TEST(Pool, NeverGivesOneObjectToTwoThreads) {
  Pool<std::atomic<int>> pool([] { return std::make_unique<std::atomic<int>>(0); });
  std::atomic<bool> shared{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        const auto object = pool.acquire();
        if (object->fetch_add(1) != 0) shared = true;
        object->fetch_sub(1);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_FALSE(shared);
}

Weights example_weights() {
  return {{}, {{"w", at::arange(6, at::kFloat).reshape({2, 3})}, {"b", at::ones({3})}}};
}

TEST(Weights, DigestDependsOnNamesShapesBytesAndOrder) {
  std::set<uint64_t> digests{example_weights().digest()};
  Weights other = example_weights();
  EXPECT_EQ(other.digest(), *digests.begin());
  other.tensors[0].first = "v";
  digests.insert(other.digest());
  other = example_weights();
  other.tensors[0].second = other.tensors[0].second.reshape({3, 2});
  digests.insert(other.digest());
  other = example_weights();
  other.tensors[1].second[2] = 1.0001F;
  digests.insert(other.digest());
  other = example_weights();
  std::swap(other.tensors[0], other.tensors[1]);
  digests.insert(other.digest());
  other = example_weights();
  other.tensors.pop_back();
  digests.insert(other.digest());
  EXPECT_EQ(digests.size(), 6U);
}

TEST(Weights, DigestDoesNotDependOnStridesOrTag) {
  Weights strided = example_weights();
  strided.tag.step = 3;
  strided.tensors[0].second = strided.tensors[0].second.t().contiguous().t();
  ASSERT_FALSE(strided.tensors[0].second.is_contiguous());
  EXPECT_EQ(strided.digest(), example_weights().digest());
}

TEST(Weights, FindsByName) {
  const Weights weights = example_weights();
  EXPECT_EQ(weights.find("b").numel(), 3);
  EXPECT_FALSE(weights.find("none").defined());
}

TEST(ControlSchemas, FollowTheEnvironment) {
  const Schema observation{{"obs", DType::F32, {4}}, {"mask", DType::Bool, {2}}};
  const TensorSpec action{"action", DType::I64, {}};
  EXPECT_THAT(names(Observation::schema(observation)),
              ElementsAre("obs", "mask", "slot", "draw", "want"));
  EXPECT_THAT(names(Action::schema(action)), ElementsAre("action", "log_prob", "value"));
  EXPECT_THAT(names(Trajectory::schema(observation, action)),
              ElementsAre("obs", "mask", "action", "log_prob", "value", "reward", "terminated",
                          "truncated", "bootstrap"));
  const Schema steps = Trajectory::schema(observation, action);
  EXPECT_EQ(steps.fields()[2], action);
  EXPECT_EQ(steps.fields()[6].dtype, DType::U8);
}

TEST(PayloadTraits, WeightCountsRows) {
  Observation observation{Batch(Observation::schema(kSchema), 8), 3};
  EXPECT_EQ(PayloadTraits<Observation>::weight(observation), 3);
  Trajectory trajectory;
  trajectory.steps = Batch(kSchema, 6);
  EXPECT_EQ(PayloadTraits<Trajectory>::weight(trajectory), 6);
  EXPECT_EQ(PayloadTraits<Weights>::weight(Weights{}), 1);
  EXPECT_EQ(PayloadTraits<Trajectory>::kName, "Trajectory");
}

}  // namespace
}  // namespace sluice
