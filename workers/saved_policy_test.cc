#include "workers/saved_policy.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

SavedPolicy sample() {
  SavedPolicy policy;
  policy.env = "CartPole-v1";
  policy.net.hidden = {8, 16};
  policy.net.activation = Activation::Relu;
  policy.net.normalise_observations = true;
  policy.weights.tensors.emplace_back("b", at::arange(6, at::kFloat).view({2, 3}));
  policy.weights.tensors.emplace_back("a", at::ones({4}, at::kFloat));
  policy.weights.tag = {7, 3, 42, policy.weights.digest()};
  return policy;
}

TEST(SavedPolicy, ComesBackWithTensorsNetAndStep) {
  Snapshot snapshot;
  sample().save(snapshot);
  const auto loaded = SavedPolicy::load(snapshot);
  ASSERT_TRUE(loaded.ok()) << loaded.status().to_string();
  EXPECT_EQ(loaded->env, "CartPole-v1");
  EXPECT_EQ(loaded->net.hidden, (std::vector<int64_t>{8, 16}));
  EXPECT_EQ(loaded->net.activation, Activation::Relu);
  EXPECT_TRUE(loaded->net.normalise_observations);
  EXPECT_EQ(loaded->weights.tag.step, 42);
  EXPECT_EQ(loaded->weights.tag.digest, loaded->weights.digest());
  EXPECT_TRUE(at::equal(loaded->weights.find("b"), sample().weights.find("b")));
  EXPECT_TRUE(at::equal(loaded->weights.find("a"), sample().weights.find("a")));
}

TEST(SavedPolicy, TheSameWeightsOfAnotherIncarnationAreTheSameBytes) {
  SavedPolicy other = sample();
  other.weights.tag.run = 8;
  other.weights.tag.incarnation = 9;
  Snapshot a;
  Snapshot b;
  sample().save(a);
  other.save(b);
  EXPECT_EQ(a.encode(), b.encode());
}

TEST(SavedPolicy, ASnapshotWithoutOneOrWithADamagedTensorIsRefused) {
  EXPECT_EQ(SavedPolicy::load(Snapshot()).status().code(), Code::NotFound);
  Snapshot snapshot;
  sample().save(snapshot);
  snapshot.put("policy.tensor.a", "not a tensor");
  EXPECT_EQ(SavedPolicy::load(snapshot).status().code(), Code::DataLoss);
}

TEST(SavedPolicy, ShapesWhoseSizeOverflowsAndUnknownActivationsAreRefused) {
  const std::vector<std::vector<int64_t>> shapes = {
      {int64_t{1} << 62}, {int64_t{1} << 40, int64_t{1} << 40}, {-1}};
  for (const std::vector<int64_t>& shape : shapes) {
    Snapshot tensor;
    tensor.put_array("shape", std::span<const int64_t>(shape));
    tensor.put("data", "");
    Snapshot snapshot;
    sample().save(snapshot);
    snapshot.put("policy.tensor.a", tensor.encode());
    EXPECT_EQ(SavedPolicy::load(snapshot).status().code(), Code::DataLoss);
  }
  Snapshot snapshot;
  sample().save(snapshot);
  snapshot.put("policy.activation", "\x07");
  EXPECT_EQ(SavedPolicy::load(snapshot).status().code(), Code::DataLoss);
}

}  // namespace
}  // namespace sluice
