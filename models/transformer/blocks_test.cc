// The parts of a layer against their plain definitions, values and gradients.
#include "models/transformer/blocks.h"

#include "models/transformer/attention_ops.h"
#include "models/transformer/fused.h"
#include "models/transformer/gated_delta.h"
#include "models/transformer/linear_ops.h"
#include "models/transformer/row_kernels.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <functional>

namespace sluice {
namespace {

at::Tensor noise(at::IntArrayRef shape, uint64_t seed) {
  return Parameters::random_tensor({"", shape.vec(), ParameterInit::Normal, ""}, 1,
                                   RandomKey(seed));
}

double difference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

using Outputs = std::vector<at::Tensor>;
using Fn = std::function<Outputs(const Outputs&)>;

/// Both functions of the same inputs: equal results, and equal gradients of a random sum of them.
void expect_same(const Fn& f, const Fn& g, const Outputs& inputs, double tolerance) {
  std::vector<Outputs> results;
  std::vector<Outputs> gradients;
  for (const Fn& each : {f, g}) {
    Outputs leaves;
    for (const at::Tensor& x : inputs) leaves.push_back(x.clone().requires_grad_(true));
    Outputs out = each(leaves);
    at::Tensor sum = at::zeros({});
    for (size_t i = 0; i < out.size(); ++i) {
      sum = sum + (out[i] * noise(out[i].sizes(), 100 + i)).sum();
    }
    sum.backward();
    Outputs grads;
    for (const at::Tensor& x : leaves) grads.push_back(x.grad());
    results.push_back(out);
    gradients.push_back(grads);
  }
  for (size_t i = 0; i < results[0].size(); ++i) {
    EXPECT_LE(difference(results[0][i], results[1][i]), tolerance) << "result " << i;
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    ASSERT_TRUE(gradients[0][i].defined() && gradients[1][i].defined()) << "gradient " << i;
    const double scale = gradients[1][i].abs().max().item<double>();
    EXPECT_LE(difference(gradients[0][i], gradients[1][i]), tolerance * (1 + scale))
        << "gradient " << i;
  }
}

Norm norm_of(const at::Tensor& weight, bool unit_offset) {
  return {NormKind::Rms, 1e-5, unit_offset, weight, {}};
}

TEST(Fused, RmsNormEqualsPlain) {
  for (const int64_t n : {1, 24, 33, 576}) {
    for (const bool offset : {false, true}) {
      expect_same(
          [&](const Outputs& in) {
            return Outputs{fused::rms_norm(norm_of(in[1], offset), in[0])};
          },
          [&](const Outputs& in) {
            return Outputs{plain::normalise(norm_of(in[1], offset), in[0])};
          },
          {noise({70, n}, 1), noise({n}, 2)}, 1e-5);
    }
  }
}

TEST(Fused, AddedNormEqualsPlain) {
  expect_same(
      [](const Outputs& in) {
        const auto both = fused::add_rms_norm(norm_of(in[2], false), in[0], in[1]);
        return Outputs{both.sum, both.normed};
      },
      [](const Outputs& in) {
        const at::Tensor sum = in[0] + in[1];
        return Outputs{sum, plain::normalise(norm_of(in[2], false), sum)};
      },
      {noise({130, 40}, 1), noise({130, 40}, 2), noise({40}, 3)}, 1e-5);
}

TEST(Fused, AddedNormWithAnUnusedResult) {
  for (const size_t used : {size_t{0}, size_t{1}}) {
    expect_same(
        [&](const Outputs& in) {
          const auto both = fused::add_rms_norm(norm_of(in[2], false), in[0], in[1]);
          return Outputs{(used == 0 ? both.sum : both.normed) + 0 * in[2].sum()};
        },
        [&](const Outputs& in) {
          const at::Tensor sum = in[0] + in[1];
          return Outputs{(used == 0 ? sum : plain::normalise(norm_of(in[2], false), sum)) +
                         0 * in[2].sum()};
        },
        {noise({5, 8}, 1), noise({5, 8}, 2), noise({8}, 3)}, 1e-5);
  }
}

TEST(Fused, SwigluEqualsPlainAlsoFarFromZero) {
  expect_same([](const Outputs& in) { return Outputs{fused::swiglu(in[0])}; },
              [](const Outputs& in) {
                return Outputs{plain::gated_activation(MlpActivation::Silu, in[0])};
              },
              {noise({9, 2 * 37}, 1) * 30}, 2e-5);
  const at::Tensor huge = at::tensor({-1e4F, 1e4F, 1.0F, 1.0F}).view({1, 4});
  EXPECT_LE(difference(fused::swiglu(huge), at::tensor({0.0F, 1e4F}).view({1, 2})), 1e-6);
}

TEST(Fused, SplitHeadsEqualsPlainWithAnyRotatedShare) {
  const HeadShape shape{4, 2, 12};
  for (const int64_t half : {int64_t{0}, int64_t{2}, int64_t{6}}) {
    const RopeTable rope{at::cos(noise({7, half}, 3)), at::sin(noise({7, half}, 3))};
    const RopeTable* table = half == 0 ? nullptr : &rope;
    const auto with = [&](const auto& f) {
      return [&, f](const Outputs& in) {
        const Heads h = f(in[0], shape, table);
        return Outputs{h.q, h.k, h.v};
      };
    };
    expect_same(with(&fused::split_heads), with(&plain::split_heads), {noise({7, 96}, 1)}, 1e-5);
  }
}

TEST(RowKernels, AllVariantsAgree) {
  constexpr int64_t kRows = 5;
  constexpr int64_t kColumns = 77;
  const at::Tensor x = noise({kRows, 2 * kColumns}, 1);
  const at::Tensor w = noise({kColumns}, 2);
  const auto run = [&](const RowKernels& f) {
    at::Tensor out = at::zeros({4, kRows, 2 * kColumns});
    at::Tensor r = at::empty({kRows});
    at::Tensor dw = at::zeros({kColumns});
    const auto* in = x.data_ptr<float>();
    const auto at = [&](int64_t i) { return out[i].data_ptr<float>(); };
    f.rms_norm(in, nullptr, w.data_ptr<float>(), 1.0F, 1e-6, kRows, kColumns, nullptr, at(0),
               r.data_ptr<float>());
    f.rms_norm_backward(in, nullptr, in, w.data_ptr<float>(), 0.0F, r.data_ptr<float>(), kRows,
                        kColumns, at(1), dw.data_ptr<float>());
    f.swiglu(in, kRows, kColumns, at(2));
    f.swiglu_backward(in, in, kRows, kColumns, at(3));
    return at::cat({out.flatten(), r, dw});
  };
  const at::Tensor want = run(row_kernels(Isa::Plain));
  for (const Isa isa : {Isa::Avx2, Isa::Avx512}) {
    if (supported(isa)) {
      EXPECT_LE(difference(run(row_kernels(isa)), want), 1e-5) << name(isa);
    }
  }
}

TEST(RowKernels, NanStaysWhereItIs) {
  for (const Isa isa : {Isa::Plain, Isa::Avx2, Isa::Avx512}) {
    if (!supported(isa)) continue;
    constexpr int64_t kColumns = 35;
    std::vector<float> gate_up(2 * kColumns, 1.0F);
    gate_up[3] = NAN;
    std::vector<float> out(kColumns);
    row_kernels(isa).swiglu(gate_up.data(), 1, kColumns, out.data());
    for (int64_t i = 0; i < kColumns; ++i) EXPECT_EQ(std::isnan(out[i]), i == 3) << name(isa);
  }
}

TEST(LinearOp, GroupIsOneProductWithTheSameGradients) {
  // The same numbers as neighbours in one allocation, and as tensors of their own.
  const std::vector<ParameterSpec> specs = {{"a.weight", {5, 8}, ParameterInit::Normal, "w"},
                                            {"b.weight", {3, 8}, ParameterInit::Normal, "w"},
                                            {"a.bias", {5}, ParameterInit::Normal, "b"},
                                            {"b.bias", {3}, ParameterInit::Normal, "b"}};
  Parameters together = Parameters::allocate(specs);
  Outputs alone;
  for (size_t i = 0; i < specs.size(); ++i) {
    at::Tensor t = together.entries()[i].tensor;
    t.copy_(noise(specs[i].shape, 10 + i));
    alone.push_back(t.clone().requires_grad_(true));
  }
  together.requires_grad(true);
  const PlainLinearOp op;
  const at::Tensor x = noise({6, 8}, 1);
  const at::Tensor x1 = x.clone().requires_grad_(true);
  const at::Tensor x2 = x.clone().requires_grad_(true);
  const std::vector<Linear> grouped = {linear_at(together, "a"), linear_at(together, "b")};
  const std::vector<Linear> single = {{"a", alone[0], alone[2]}, {"b", alone[1], alone[3]}};
  EXPECT_TRUE(spanning({grouped[0].weight, grouped[1].weight}).defined());
  EXPECT_FALSE(spanning({alone[0], alone[1]}).defined());
  const at::Tensor y1 = op.apply_group(grouped, x1);
  const at::Tensor y2 = op.apply_group(single, x2);
  EXPECT_LE(difference(y1, y2), 1e-6);
  const at::Tensor weights = noise({6, 8}, 2);
  (y1 * weights).sum().backward();
  (y2 * weights).sum().backward();
  EXPECT_LE(difference(x1.grad(), x2.grad()), 1e-5);
  for (size_t i = 0; i < specs.size(); ++i) {
    EXPECT_LE(difference(together.entries()[i].tensor.grad(), alone[i].grad()), 1e-5)
        << specs[i].name;
  }
}

TEST(AttentionOp, FusedEqualsPlainWithGradients) {
  for (const int64_t window : {0, 3}) {
    for (const int64_t kv_heads : {1, 2, 4}) {
      AttentionSpec spec;
      spec.heads = 4;
      spec.kv_heads = kv_heads;
      spec.head_dim = 8;
      spec.scale = 0.3;
      spec.window = window;
      PackedBatch batch;
      batch.cu_seqlens = {0, 5, 5, 16};
      const auto with = [&](const AttentionOp& op) {
        return [&](const Outputs& in) {
          return Outputs{op.apply(spec, in[0], in[1], in[2], batch, nullptr)};
        };
      };
      expect_same(with(SdpaAttentionOp()), with(PlainAttentionOp()),
                  {noise({16, 4, 8}, 1), noise({16, kv_heads, 8}, 2), noise({16, kv_heads, 8}, 3)},
                  1e-5);
    }
  }
}

TEST(Routing, SwitchesOfNormalisation) {
  const at::Tensor scores = at::tensor({1.0F, 3.0F, 2.0F, 0.0F}).view({1, 4});
  const at::Tensor all = at::softmax(scores, -1)[0];
  ExpertConfig config;
  config.count = 4;
  config.per_token = 2;
  config.normalise_topk = false;
  const Routing raw = route(config, scores);
  EXPECT_EQ(raw.experts[0][0].item<int64_t>(), 1);
  EXPECT_EQ(raw.experts[0][1].item<int64_t>(), 2);
  EXPECT_NEAR(raw.weights[0][0].item<double>(), all[1].item<double>(), 1e-6);
  config.normalise_topk = true;
  const double share = 1 / (1 + std::exp(-1.0));  // of the scores 3 and 2
  EXPECT_NEAR(route(config, scores).weights[0][0].item<double>(), share, 1e-6);
  config.softmax_before_topk = false;
  EXPECT_NEAR(route(config, scores).weights[0][0].item<double>(), share, 1e-6);
}

TEST(GatedDelta, ChunksEqualTokenByTokenWithGradients) {
  const auto inputs = [](const Outputs& in) {
    return DeltaInputs{in[0], in[1] / in[1].norm(2, -1, true), in[2], -at::softplus(in[3]),
                       at::sigmoid(in[4])};
  };
  const Outputs in = {noise({3, 21, 6}, 1), noise({3, 21, 6}, 2), noise({3, 21, 5}, 3),
                      noise({3, 21}, 4),    noise({3, 21}, 5),    noise({3, 6, 5}, 6)};
  const auto results = [](const DeltaResult& r) { return Outputs{r.out, r.state}; };
  for (const int64_t chunk : {1, 4, 7, 21, 64}) {
    expect_same(
        [&](const Outputs& x) { return results(gated_delta_chunked(inputs(x), x[5], chunk)); },
        [&](const Outputs& x) { return results(gated_delta_recurrent(inputs(x), x[5])); }, in,
        2e-5);
  }
}

TEST(GatedDelta, WithoutDecayAndWithFullWritesItRecallsTheLastValueOfAKey) {
  DeltaInputs in;
  in.k = at::eye(3).unsqueeze(0).index_select(1, at::tensor({0, 1, 0}, at::kLong));
  in.q = in.k;
  in.v = noise({1, 3, 4}, 1);
  in.decay = at::zeros({1, 3});
  in.beta = at::ones({1, 3});
  const DeltaResult r = gated_delta_recurrent(in, {});
  EXPECT_LE(difference(r.out, in.v), 1e-6);
  EXPECT_LE(difference(r.state[0][0], in.v[0][2]), 1e-6);
  EXPECT_LE(difference(r.state[0][1], in.v[0][1]), 1e-6);
}

}  // namespace
}  // namespace sluice
