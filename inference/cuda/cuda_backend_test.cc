// The CUDA kernels against their plain twin, on the GPU.
#include "inference/cuda/device_support.h"
#include "inference/cuda/devices.h"
#include "inference/cuda/plain_backend.h"

#include <ATen/ATen.h>
#include <c10/core/StreamGuard.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using device_support::make_paged;
using device_support::paged_cases;
using device_support::PagedCase;
using device_support::PagedData;

class CudaKernels : public testing::Test {
 protected:
  void SetUp() override {
    auto loaded = load_cuda_backend(0);
    // No GPU, or no CUDA: scripts/gpu_check.sh calls that a failure. Anything else fails here.
    if (loaded.status().code() == Code::Unavailable) GTEST_SKIP() << loaded.status().message();
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    backend_ = *std::move(loaded);
    guard_.emplace(*backend_->stream());
  }

  std::shared_ptr<const DeviceBackend> backend_;
  std::optional<c10::StreamGuard> guard_;
};

TEST_F(CudaKernels, StoreWhatThePlainTwinStores) {
  const PlainBackend plain(backend_->device());
  for (const PagedCase& c : paged_cases()) {
    const PagedData got = make_paged(c, backend_->device());
    const PagedData want = make_paged(c, backend_->device());
    // Keys as a projection leaves them: a part of each token's row.
    const at::Tensor both = at::cat({at::cat(got.k), at::cat(got.v)}, 1);
    const auto parts = both.chunk(2, 1);
    backend_->store(parts[0], parts[1], got.slots, got.keys, got.values);
    plain.store(at::cat(want.k), at::cat(want.v), want.slots, want.keys, want.values);
    EXPECT_TRUE(at::nan_to_num(got.keys, 9).equal(at::nan_to_num(want.keys, 9)));
    EXPECT_TRUE(at::nan_to_num(got.values, 9).equal(at::nan_to_num(want.values, 9)));
  }
}

TEST_F(CudaKernels, AttendAsThePlainTwinDoes) {
  const PlainBackend plain(backend_->device());
  for (const PagedCase& c : paged_cases()) {
    const PagedData data = make_paged(c, backend_->device());
    plain.store(at::cat(data.k), at::cat(data.v), data.slots, data.keys, data.values);
    const at::Tensor got = backend_->attend(c.spec, data.q, data.rows());
    const at::Tensor want = plain.attend(c.spec, data.q, data.rows());
    ASSERT_EQ(got.scalar_type(), c.dtype);
    const double off = (got.to(at::kFloat) - want.to(at::kFloat)).abs().max().item<double>();
    const double tolerance = c.dtype == at::kFloat ? 1e-5 : c.dtype == at::kHalf ? 2e-3 : 1e-2;
    EXPECT_LT(off, tolerance) << c.spec.heads << " heads of " << c.spec.head_dim << " on "
                              << c.spec.kv_heads << ", window " << c.spec.window;
  }
}

TEST_F(CudaKernels, ARowHasTheSameBitsAloneAndBehindAnyTable) {
  for (PagedCase c : paged_cases()) {
    const PagedData data = make_paged(c, backend_->device());
    backend_->store(at::cat(data.k), at::cat(data.v), data.slots, data.keys, data.values);
    const at::Tensor all = backend_->attend(c.spec, data.q, data.rows());
    const at::Tensor wider = at::constant_pad_nd(data.tables, {0, 100}, 0).contiguous();
    const at::Tensor behind =
        backend_->attend(c.spec, data.q, {data.keys, data.values, wider, data.lengths});
    EXPECT_TRUE(behind.equal(all));
    for (int64_t r = 0; r < data.q.size(0); ++r) {
      const PagedRows row{data.keys, data.values, data.tables.narrow(0, r, 1),
                          data.lengths.narrow(0, r, 1)};
      EXPECT_TRUE(backend_->attend(c.spec, data.q.narrow(0, r, 1), row).equal(all.narrow(0, r, 1)))
          << "row " << r;
    }
  }
}

TEST_F(CudaKernels, RefuseHeadsTheyCannotRead) {
  PagedCase c;
  c.spec.heads = c.spec.kv_heads = 1;
  c.spec.head_dim = 12;
  c.lengths = {3};
  const PagedData data = make_paged(c, backend_->device());
  EXPECT_THROW(static_cast<void>(backend_->attend(c.spec, data.q, data.rows())), std::exception);
}

TEST_F(CudaKernels, GraphsRunOnWhatTheirInputsHold) {
  const auto graph = backend_->make_graph();
  const at::Tensor in = at::ones({1000}, at::TensorOptions(at::kFloat).device(backend_->device()));
  at::Tensor out;
  const Status recorded = graph->capture([&] { out = at::tanh(in) * 3; });
  ASSERT_TRUE(recorded.ok()) << recorded.message();
  for (const double x : {0.25, -2.0}) {
    in.fill_(x);
    ASSERT_TRUE(graph->replay().ok());
    EXPECT_TRUE(out.equal(at::tanh(in) * 3));
  }
}

TEST_F(CudaKernels, AGraphThatWaitsForTheDeviceIsRefusedAndTheStreamLivesOn) {
  const auto graph = backend_->make_graph();
  const at::Tensor in = at::ones({10}, at::TensorOptions(at::kFloat).device(backend_->device()));
  EXPECT_FALSE(graph->capture([&] { static_cast<void>(in.sum().item<float>()); }).ok());
  EXPECT_EQ((in * 2).sum().item<float>(), 20);
}

}  // namespace
}  // namespace sluice
