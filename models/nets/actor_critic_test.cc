#include "models/nets/actor_critic.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <cstring>

namespace sluice {
namespace {

ActorCriticSpec cartpole() { return {4, {64, 64}, Head::categorical(2), Activation::Tanh}; }

TEST(ActorCritic, FusedForwardMatchesTheAutogradTwin) {
  const c10::AutoGradMode guard(false);
  for (const ActorCriticSpec& spec :
       {cartpole(), ActorCriticSpec{3, {33}, Head::gaussian(2, -0.5F), Activation::Relu},
        ActorCriticSpec{11, {40, 20, 9}, Head::categorical(5), Activation::Tanh}}) {
    const ActorCritic net(spec, RandomKey(7));
    ActorCriticScratch scratch(net);
    const int64_t rows = 251;
    const at::Tensor obs = at::randn({rows, spec.observation});
    at::Tensor head = at::empty({rows, spec.head.size});
    at::Tensor value = at::empty({rows});
    net.forward(obs.data_ptr<float>(), rows, scratch, head.data_ptr<float>(),
                value.data_ptr<float>());
    const auto twin = ActorCritic::forward_autograd(spec, obs, net.parameters().views());
    EXPECT_LT((twin.head - head).abs().max().item<double>(), 1e-6);
    EXPECT_LT((twin.value - value).abs().max().item<double>(), 1e-5);
    EXPECT_EQ(twin.log_std.defined(), !spec.head.discrete());
    if (twin.log_std.defined()) {
      EXPECT_EQ(twin.log_std[1].item<float>(), -0.5F);
    }
  }
}

TEST(ActorCritic, InitialWeightsAreOrthogonalAndRepeat) {
  const ActorCritic net(cartpole(), RandomKey(1));
  const at::Tensor w = net.parameters().view("critic.1.weight").to(at::kDouble);
  EXPECT_LT((w.t().mm(w) - 2 * at::eye(64, at::kDouble)).abs().max().item<double>(), 1e-5);
  const at::Tensor first = net.parameters().view("actor.0.weight").to(at::kDouble);
  EXPECT_LT((first.mm(first.t()) - 2 * at::eye(4, at::kDouble)).abs().max().item<double>(), 1e-5);
  const at::Tensor policy = net.parameters().view("actor.2.weight").to(at::kDouble);
  EXPECT_LT((policy.t().mm(policy) - 1e-4 * at::eye(2, at::kDouble)).abs().max().item<double>(),
            1e-9);
  const at::Tensor value = net.parameters().view("critic.2.weight");
  EXPECT_NEAR(value.norm().item<double>(), 1.0, 1e-6);
  EXPECT_EQ(net.parameters().view("actor.1.bias").abs().max().item<float>(), 0.0F);

  const ActorCritic again(cartpole(), RandomKey(1));
  EXPECT_TRUE(at::equal(net.parameters().flat(), again.parameters().flat()));
  const ActorCritic other(cartpole(), RandomKey(2));
  EXPECT_FALSE(at::equal(net.parameters().flat(), other.parameters().flat()));
}

TEST(ActorCritic, LoadTakesOverAllParameters) {
  ActorCritic a(cartpole(), RandomKey(1));
  const ActorCritic b(cartpole(), RandomKey(2));
  a.load(b.parameters().data());
  ActorCriticScratch scratch(a);
  const float obs[4] = {0.1F, -0.2F, 0.3F, 0.4F};
  float head_a[2], head_b[2], value_a, value_b;
  a.forward(obs, 1, scratch, head_a, &value_a);
  b.forward(obs, 1, scratch, head_b, &value_b);
  EXPECT_EQ(0, std::memcmp(head_a, head_b, sizeof(head_a)));
  EXPECT_EQ(value_a, value_b);
}

TEST(ParameterSet, IsOneAlignedBufferWithSharedViews) {
  ParameterSet set({{"a", {2, 3}}, {"b", {}}, {"c", {5}}});
  EXPECT_EQ(set.size(), 12);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(set.data()) % 64, 0U);
  EXPECT_EQ(set.data("c") - set.data(), 7);
  set.view("a").fill_(2);
  EXPECT_EQ(set.data()[5], 2.0F);
  EXPECT_EQ(set.data()[6], 0.0F);
  ParameterSet copy = set.clone();
  copy.data()[0] = 9;
  EXPECT_EQ(set.data()[0], 2.0F);
  EXPECT_EQ(copy.entries()[2].name, "c");
  EXPECT_EQ(set.zeros_like().data()[0], 0.0F);
}

}  // namespace
}  // namespace sluice
