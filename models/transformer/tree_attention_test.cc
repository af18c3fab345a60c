#include "models/transformer/tree_attention.h"

#include "models/transformer/attention_ops.h"
#include "models/transformer/parameters.h"
#include "models/transformer/tree_attention_kernels.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

namespace sluice {
namespace {

at::Tensor drawn(at::IntArrayRef shape, uint64_t seed) {
  return Parameters::random_tensor({"", shape.vec(), ParameterInit::Normal, ""}, 1,
                                   RandomKey(seed));
}

/// A batch of sequences of given lengths and parents; attention looks at nothing else.
PackedBatch tree_of(const std::vector<int64_t>& lengths, std::vector<int64_t> parents) {
  PackedBatch batch;
  batch.cu_seqlens = {0};
  for (const int64_t n : lengths) batch.cu_seqlens.push_back(batch.cu_seqlens.back() + n);
  batch.parents = std::move(parents);
  return batch;
}

AttentionSpec spec_of(int64_t heads, int64_t kv_heads, int64_t dim, int64_t window = 0) {
  AttentionSpec spec;
  spec.heads = heads;
  spec.kv_heads = kv_heads;
  spec.head_dim = dim;
  spec.scale = 1 / std::sqrt(static_cast<double>(dim));
  spec.window = window;
  return spec;
}

/// Output and gradients of q, k, v.
std::vector<at::Tensor> attended(bool fused, const AttentionSpec& spec, const PackedBatch& batch) {
  const int64_t tokens = batch.total_tokens();
  const auto type = fused ? at::kFloat : at::kDouble;
  std::vector<at::Tensor> leaves;
  for (const int64_t heads : {spec.heads, spec.kv_heads, spec.kv_heads}) {
    leaves.push_back(
        drawn({tokens, heads, spec.head_dim}, leaves.size() + 1).to(type).requires_grad_(true));
  }
  const at::Tensor out =
      fused ? tree_attention(spec, leaves[0], leaves[1], leaves[2], batch)
            : PlainAttentionOp().apply(spec, leaves[0], leaves[1], leaves[2], batch, nullptr);
  (out * drawn(out.sizes(), 9).to(type)).sum().backward();
  return {out.detach(), leaves[0].grad(), leaves[1].grad(), leaves[2].grad()};
}

struct TreeCase {
  std::string name;
  AttentionSpec spec;
  PackedBatch batch;
};
const std::vector<TreeCase>& cases() {
  static const std::vector<TreeCase> all = {
      {"OneToken", spec_of(2, 2, 16), tree_of({1}, {-1})},
      {"Group", spec_of(6, 2, 32), tree_of({7, 3, 5, 1}, {-1, 0, 0, 0})},
      {"TwoGroups", spec_of(4, 1, 64), tree_of({9, 4, 4, 3, 2}, {-1, 0, 0, -1, 3})},
      {"BlocksOfRows", spec_of(3, 3, 16), tree_of({130, 70, 101, 40}, {-1, 0, 0, 0})},
      {"Turns", spec_of(4, 2, 16), tree_of({5, 3, 2, 4, 6, 3}, {-1, 0, 1, 1, 0, 4})},
      {"Window", spec_of(4, 2, 16, 6), tree_of({20, 5, 9, 110, 1}, {-1, 0, 0, -1, 3})},
  };
  return all;
}

class TreeAttentionTest : public testing::TestWithParam<size_t> {};

TEST_P(TreeAttentionTest, EqualsItsDefinition) {
  const TreeCase& c = cases()[GetParam()];
  const at::Tensor q = at::empty({c.batch.total_tokens(), c.spec.heads, c.spec.head_dim});
  ASSERT_TRUE(tree_attention_takes(c.spec, q, c.batch));
  const auto got = attended(true, c.spec, c.batch), want = attended(false, c.spec, c.batch);
  for (size_t i = 0; i < got.size(); ++i) {
    const double scale = std::max(1.0, want[i].abs().max().item<double>());
    EXPECT_LE((got[i] - want[i]).abs().max().item<double>(), 2e-6 * scale) << "tensor " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Trees, TreeAttentionTest, testing::Range(size_t{0}, cases().size()),
                         [](const auto& info) { return cases()[info.param].name; });

TEST(TreeAttention, LeavesToOthersWhatItCannot) {
  const at::Tensor q = at::zeros({4, 2, 16});
  const PackedBatch batch = tree_of({2, 2}, {-1, 0});
  EXPECT_TRUE(tree_attention_takes(spec_of(2, 2, 16), q, batch));
  EXPECT_FALSE(tree_attention_takes(spec_of(2, 2, 16), q.to(at::kDouble), batch));
  EXPECT_FALSE(tree_attention_takes(spec_of(2, 2, 12), at::zeros({4, 2, 12}), batch));
  AttentionSpec capped = spec_of(2, 2, 16);
  capped.logit_softcap = 30;
  EXPECT_FALSE(tree_attention_takes(capped, q, batch));
  // The last continues the first, but another sequence stands between.
  EXPECT_FALSE(tree_attention_takes(spec_of(2, 2, 16), q, tree_of({1, 1, 2}, {-1, -1, 0})));
}

TEST(TreeAttention, KeepsNotANumberWhereItIsSeen) {
  const AttentionSpec spec = spec_of(2, 2, 16);
  const PackedBatch batch = tree_of({2, 2, 2}, {-1, 0, 0});
  const at::Tensor q = drawn({6, 2, 16}, 1), v = drawn({6, 2, 16}, 3);
  at::Tensor k = drawn({6, 2, 16}, 2);
  k[2].fill_(std::nan(""));  // the first token of the first child
  const at::Tensor bad = tree_attention(spec, q, k, v, batch).isnan().flatten(1).any(1);
  for (int64_t row = 0; row < 6; ++row) {
    EXPECT_EQ(bad[row].item<bool>(), row == 2 || row == 3) << row;
  }
}

TEST(TreeAttentionKernels, EveryVariantEqualsTheDefinition) {
  for (const Isa isa : {Isa::Plain, Isa::Avx2, Isa::Avx512}) {
    if (!supported(isa)) continue;
    const TreeAttentionKernels& table = tree_attention_kernels(isa);
    const int64_t n = 3 * table.width;
    for (int64_t m = 1; m <= 13; ++m) {
      const at::Tensor a = drawn({m, 5}, 1), b = drawn({5, n}, 2);
      at::Tensor c = drawn({m, n}, 3);
      const at::Tensor sum = c + at::mm(a, b);
      const at::Tensor turned = a.t().contiguous();
      table.product({m, n, 5, turned.data_ptr<float>(), 1, m, b.data_ptr<float>(), n,
                     c.data_ptr<float>(), n, true});
      EXPECT_LE((c - sum).abs().max().item<double>(), 1e-5);
      table.product({m, n, 5, a.data_ptr<float>(), 5, 1, b.data_ptr<float>(), n,
                     c.data_ptr<float>(), n, false});
      EXPECT_LE((c - at::mm(a, b)).abs().max().item<double>(), 1e-5);
    }
    const ScoreRow row{2, n - 3, n, 0.5F};
    const at::Tensor scores = drawn({n}, 4), dp = drawn({n}, 5);
    at::Tensor x = scores.clone(), y = dp.clone();
    const float lse = table.softmax(x.data_ptr<float>(), row);
    const at::Tensor seen = (scores * 0.5).narrow(0, 2, n - 5).to(at::kDouble);
    const at::Tensor p = seen.softmax(0);
    EXPECT_NEAR(lse, seen.logsumexp(0).item<double>(), 1e-6);
    EXPECT_LE((x.narrow(0, 2, n - 5) - p).abs().max().item<double>(), 1e-6);
    for (const int64_t outside : {int64_t{0}, int64_t{1}, n - 3, n - 1}) {
      EXPECT_EQ(x[outside].item<float>(), 0.0F);
    }
    x.copy_(scores);
    table.gradient(x.data_ptr<float>(), y.data_ptr<float>(), lse, row);
    const at::Tensor d = dp.narrow(0, 2, n - 5).to(at::kDouble);
    EXPECT_LE((y.narrow(0, 2, n - 5) - 0.5 * p * (d - (p * d).sum())).abs().max().item<double>(),
              1e-6);
    EXPECT_EQ(y[0].item<float>(), 0.0F);
    EXPECT_EQ(y[n - 1].item<float>(), 0.0F);
  }
}

}  // namespace
}  // namespace sluice
