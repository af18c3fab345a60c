// The CUDA kernels' own source, compiled as C++ and run with a thread for each of theirs: shows
// without a GPU that the arithmetic, the addressing and the barriers are right. fp32 only.
#include "inference/cuda/device_support.h"
#include "inference/cuda/plain_backend.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <cmath>
#include <functional>
#include <thread>
#include <vector>

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(threads)

namespace {

struct Place {
  int x = 0;
  int y = 0;
  int z = 0;
};
thread_local Place threadIdx;
thread_local Place blockIdx;

constexpr int kBlock = 128;
constexpr int kLanes = 32;
std::barrier<> block_barrier(kBlock);
std::array<std::barrier<>, kBlock / kLanes> warp_barriers = {
    std::barrier<>(kLanes), std::barrier<>(kLanes), std::barrier<>(kLanes), std::barrier<>(kLanes)};
std::array<float, kBlock> exchanged;

void __syncthreads() { block_barrier.arrive_and_wait(); }

float __shfl_xor_sync(unsigned /*mask*/, float x, int step) {
  auto& warp = warp_barriers[static_cast<size_t>(threadIdx.x / kLanes)];
  exchanged[static_cast<size_t>(threadIdx.x)] = x;
  warp.arrive_and_wait();
  const float theirs = exchanged[static_cast<size_t>(threadIdx.x ^ step)];
  warp.arrive_and_wait();
  return theirs;
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

/// The kernel over a grid, one thread block after the other; `shares`: it has shared memory.
void launch(const Place& grid, bool shares, const std::function<void()>& kernel) {
  std::vector<std::jthread> threads;
  for (int t = 0; t < kBlock; ++t) {
    threads.emplace_back([&, t] {
      threadIdx.x = t;
      for (int i = 0; i < grid.x * grid.y * grid.z; ++i) {
        blockIdx = {i % grid.x, i / grid.x % grid.y, i / grid.x / grid.y};
        kernel();
        if (shares) __syncthreads();  // shared memory is the next block's
      }
    });
  }
}

}  // namespace

using std::max;
using std::min;
#include "inference/cuda/paged_attention.cuh"

namespace sluice {
namespace {

using device_support::make_paged;
using device_support::PagedCase;
using device_support::PagedData;

static_assert(cuda::kThreads == kBlock && cuda::kWarp == kLanes);

cuda::PagedLayer layer_of(const PagedData& data) {
  return {data.keys.data_ptr(), data.values.data_ptr(), static_cast<int>(data.keys.size(1)),
          static_cast<int>(data.keys.size(2)), static_cast<int>(data.keys.size(3))};
}

void store(const PagedData& data) {
  const at::Tensor k = at::cat(data.k);
  const at::Tensor v = at::cat(data.v);
  cuda::PagedStore s;
  s.layer = layer_of(data);
  s.k = k.const_data_ptr();
  s.v = v.const_data_ptr();
  s.k_stride = k.stride(0);
  s.v_stride = v.stride(0);
  s.slots = static_cast<const int*>(data.slots.const_data_ptr());
  s.tokens = static_cast<int>(data.slots.size(0));
  launch({s.tokens, 1, 1}, false, [&] { cuda::store_rows<float>(s); });
}

template <int kShare>
at::Tensor attend(const PagedCase& c, const PagedData& data) {
  const int share = static_cast<int>(c.spec.heads / c.spec.kv_heads);
  at::Tensor out = at::empty_like(data.q);
  cuda::PagedAttention a;
  a.layer = layer_of(data);
  a.q = data.q.const_data_ptr();
  a.out = out.data_ptr();
  a.tables = static_cast<const int*>(data.tables.const_data_ptr());
  a.lengths = static_cast<const int*>(data.lengths.const_data_ptr());
  a.rows = static_cast<int>(data.q.size(0));
  a.heads = static_cast<int>(c.spec.heads);
  a.width = static_cast<int>(data.tables.size(1));
  a.splits = (a.width * a.layer.block_size + cuda::kSplit - 1) / cuda::kSplit;
  a.window = static_cast<int>(c.spec.window);
  a.scale = static_cast<float>(c.spec.scale);
  a.softcap = static_cast<float>(c.spec.logit_softcap);
  // What a kernel does not write must not matter.
  at::Tensor partials = at::full({a.rows, a.heads, a.splits, a.layer.head_dim}, NAN);
  at::Tensor sums = at::full({a.rows, a.heads, a.splits, 2}, NAN);
  a.partials = partials.data_ptr<float>();
  a.sums = sums.data_ptr<float>();
  launch({a.rows, a.layer.kv_heads * ((share + kShare - 1) / kShare), a.splits}, true,
         [&] { cuda::attend_split<float, kShare>(a); });
  launch({a.rows, a.heads, 1}, false, [&] { cuda::merge_splits<float>(a); });
  return out;
}

/// Few blocks: each barrier costs a turn of 128 threads.
std::vector<PagedCase> small_cases() {
  std::vector<PagedCase> cases(5);
  const auto set = [&](size_t i, AttentionSpec spec, std::vector<int64_t> lengths) {
    spec.scale = 0.25;
    cases[i].spec = spec;
    cases[i].lengths = std::move(lengths);
    cases[i].spare_width = 33;  // splits behind every row
  };
  AttentionSpec spec;
  spec.heads = 6;
  spec.kv_heads = 2;
  spec.head_dim = 24;  // 42 groups of three threads, two threads idle
  set(0, spec, {1, 9, 300});
  spec.logit_softcap = 2;
  set(1, spec, {257});
  spec.window = 270;
  set(2, spec, {256, 530});
  spec.heads = 10;
  spec.kv_heads = 1;  // more than one chunk of query heads
  set(3, spec, {33});
  spec.heads = 2;
  spec.head_dim = 256;
  set(4, spec, {70});
  return cases;
}

TEST(KernelsOnCpu, StoreAndAttendAsThePlainTwinDoes) {
  const PlainBackend plain;
  for (const PagedCase& c : small_cases()) {
    const PagedData data = make_paged(c, at::kCPU);
    PagedData twin = data;
    twin.keys = data.keys.clone();
    twin.values = data.values.clone();
    store(data);
    plain.store(at::cat(data.k), at::cat(data.v), data.slots, twin.keys, twin.values);
    EXPECT_TRUE(at::nan_to_num(data.keys, 9).equal(at::nan_to_num(twin.keys, 9)));
    EXPECT_TRUE(at::nan_to_num(data.values, 9).equal(at::nan_to_num(twin.values, 9)));
    const at::Tensor want = plain.attend(c.spec, data.q, data.rows());
    const int64_t share = c.spec.heads / c.spec.kv_heads;
    const at::Tensor got = share == 2   ? attend<2>(c, data)
                           : share <= 4 ? attend<4>(c, data)
                                        : attend<8>(c, data);
    EXPECT_LT((got - want).abs().max().item<double>(), 1e-5)
        << c.spec.heads << " heads of " << c.spec.head_dim << " on " << c.spec.kv_heads
        << ", window " << c.spec.window;
  }
}

}  // namespace
}  // namespace sluice
