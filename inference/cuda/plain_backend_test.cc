#include "inference/cuda/plain_backend.h"

#include "inference/cuda/device_support.h"
#include "models/transformer/attention_ops.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using device_support::make_paged;
using device_support::paged_cases;
using device_support::PagedCase;
using device_support::PagedData;

/// [tokens, heads, dim] -> [1, heads, tokens, dim] in fp32.
at::Tensor heads_first(const at::Tensor& x) {
  return x.to(at::kFloat).transpose(0, 1).unsqueeze(0);
}

TEST(PlainBackend, AttendsOverScatteredBlocksAsOverContiguousKeys) {
  const PlainBackend backend;
  for (const PagedCase& c : paged_cases()) {
    const PagedData data = make_paged(c, at::kCPU);
    backend.store(at::cat(data.k), at::cat(data.v), data.slots, data.keys, data.values);
    const at::Tensor got = backend.attend(c.spec, data.q, data.rows());
    ASSERT_EQ(got.scalar_type(), c.dtype);
    const double tolerance = c.dtype == at::kFloat ? 1e-5 : c.dtype == at::kHalf ? 2e-3 : 1e-2;
    for (size_t r = 0; r < c.lengths.size(); ++r) {
      const auto row = static_cast<int64_t>(r);
      const at::Tensor want = attend(c.spec, heads_first(data.q.narrow(0, row, 1)),
                                     heads_first(data.k[r]), heads_first(data.v[r]))
                                  .squeeze(0)
                                  .transpose(0, 1);
      const double off = (got.narrow(0, row, 1).to(at::kFloat) - want).abs().max().item<double>();
      EXPECT_LT(off, tolerance) << "row of " << c.lengths[r] << " keys, heads of "
                                << c.spec.head_dim << ", window " << c.spec.window;
    }
  }
}

TEST(PlainBackend, StoresAtSlotsAndNowhereElse) {
  const PlainBackend backend;
  at::Tensor keys = at::zeros({3, 2, 4, 8});
  at::Tensor values = at::zeros({3, 2, 4, 8});
  const at::Tensor k = at::full({2, 2, 8}, 5.0F);
  const at::Tensor v = at::full({2, 2, 8}, 7.0F);
  backend.store(k, v, at::tensor({6, 11}, at::kInt), keys, values);
  EXPECT_TRUE(keys.select(0, 1).select(1, 2).equal(k[0]));
  EXPECT_TRUE(values.select(0, 2).select(1, 3).equal(v[1]));
  EXPECT_EQ(keys.count_nonzero().item<int64_t>(), k.numel());
  EXPECT_EQ(values.count_nonzero().item<int64_t>(), v.numel());
}

TEST(PlainBackend, GraphsRunTheirWorkAtEveryReplay) {
  const auto graph = PlainBackend().make_graph();
  const at::Tensor in = at::ones({2});
  at::Tensor out;
  ASSERT_TRUE(graph->capture([&] { out = in * 3; }).ok());
  in.fill_(2);
  ASSERT_TRUE(graph->replay().ok());
  EXPECT_TRUE(out.equal(at::full({2}, 6.0F)));
}

}  // namespace
}  // namespace sluice
