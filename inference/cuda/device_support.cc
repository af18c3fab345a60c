#include "inference/cuda/device_support.h"

#include "dataflow/base/random.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace sluice::device_support {
namespace {

using engine_support::Runner;

/// Normal numbers of a shape, the same everywhere.
at::Tensor normals(const std::vector<int64_t>& shape, uint64_t seed) {
  ParameterSpec spec;
  spec.shape = shape;
  return Parameters::random_tensor(spec, 1.0, RandomKey(seed));
}

}  // namespace

EngineOptions on(std::shared_ptr<DeviceExecutor> executor) {
  EngineOptions o = engine_support::options();
  o.executor = std::move(executor);
  return o;
}

std::vector<Completion> run_mixture(Runner& runner) {
  std::vector<RequestId> ids;
  GenRequest group = engine_support::drawn_request(engine_support::prompt(19), 12);
  group.sampling.n = 3;
  ids.push_back(runner.submit(group));
  ids.push_back(runner.submit(engine_support::greedy_request(engine_support::prompt(22, 2), 9)));
  for (uint64_t i = 0; i < 3; ++i) {
    ids.push_back(runner.submit(engine_support::drawn_request(
        engine_support::prompt(static_cast<int64_t>(3 + 4 * i), 30 + i), 14, i)));
  }
  runner.run();
  std::vector<Completion> out;
  for (const RequestId id : ids) out.push_back(runner.done(id));
  return out;
}

void expect_same(const std::vector<Completion>& got, const std::vector<Completion>& want,
                 double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t r = 0; r < got.size(); ++r) {
    ASSERT_EQ(got[r].samples.size(), want[r].samples.size());
    for (size_t i = 0; i < got[r].samples.size(); ++i) {
      const Sample& one = got[r].samples[i];
      const Sample& other = want[r].samples[i];
      ASSERT_EQ(one.tokens, other.tokens) << "request " << r << ", sample " << i;
      for (size_t t = 0; t < one.logprobs.size(); ++t) {
        EXPECT_NEAR(one.logprobs[t], other.logprobs[t], tolerance)
            << "request " << r << ", sample " << i << ", token " << t;
      }
    }
  }
}

std::vector<Completion> on_the_cpu(const Transformer& model, const Parameters& weights) {
  Runner runner(Transformer(model.config(), weights));
  return run_mixture(runner);
}

PagedData make_paged(const PagedCase& c, const at::Device& device) {
  const auto rows = std::ssize(c.lengths);
  std::vector<int64_t> blocks;
  int64_t total = 0;
  for (const int64_t length : c.lengths) {
    blocks.push_back((length + c.block_size - 1) / c.block_size);
    total += blocks.back();
  }
  const int64_t width = std::ranges::max(blocks) + c.spare_width;
  // Blocks of a sequence lie apart and backwards.
  std::vector<int32_t> order(static_cast<size_t>(total));
  std::iota(order.rbegin(), order.rend(), 0);
  std::vector<int32_t> slots;
  std::vector<int32_t> tables(static_cast<size_t>(rows * width), 0);
  PagedData out;
  size_t next = 0;
  for (int64_t r = 0; r < rows; ++r) {
    const auto row = static_cast<size_t>(r);
    const auto seed = static_cast<uint64_t>(r);
    const std::vector<int64_t> shape = {c.lengths[row], c.spec.kv_heads, c.spec.head_dim};
    out.k.push_back(normals(shape, 100 + seed).to(device, c.dtype));
    out.v.push_back(normals(shape, 200 + seed).to(device, c.dtype));
    for (int64_t b = 0; b < blocks[row]; ++b) {
      tables[static_cast<size_t>(r * width + b)] = order[next++];
    }
    for (int64_t t = 0; t < c.lengths[row]; ++t) {
      const int32_t block = tables[static_cast<size_t>(r * width + t / c.block_size)];
      slots.push_back(block * static_cast<int32_t>(c.block_size) +
                      static_cast<int32_t>(t % c.block_size));
    }
  }
  out.q = normals({rows, c.spec.heads, c.spec.head_dim}, 300).to(device, c.dtype);
  out.slots = at::tensor(slots, at::kInt).to(device);
  out.tables = at::tensor(tables, at::kInt).view({rows, width}).to(device);
  out.lengths = at::tensor(c.lengths, at::kLong).to(device, at::kInt);
  out.keys =
      at::full({total, c.spec.kv_heads, c.block_size, c.spec.head_dim},
               std::numeric_limits<double>::quiet_NaN(), at::TensorOptions(c.dtype).device(device));
  out.values = out.keys.clone();
  return out;
}

std::vector<PagedCase> paged_cases() {
  std::vector<PagedCase> cases;
  const auto add = [&](int64_t heads, int64_t kv_heads, int64_t dim, int64_t window, double cap,
                       at::ScalarType dtype, std::vector<int64_t> lengths) {
    PagedCase c;
    c.spec.heads = heads;
    c.spec.kv_heads = kv_heads;
    c.spec.head_dim = dim;
    c.spec.scale = 1.0 / static_cast<double>(dim);
    c.spec.window = window;
    c.spec.logit_softcap = cap;
    c.dtype = dtype;
    c.lengths = std::move(lengths);
    cases.push_back(c);
  };
  for (const at::ScalarType dtype : {at::kFloat, at::kHalf, at::kBFloat16}) {
    add(9, 3, 64, 0, 0, dtype, {1, 7, 8, 9, 100});
    add(4, 4, 128, 0, 0, dtype, {255, 256, 257});
    add(16, 1, 96, 0, 0, dtype, {33, 600});
    add(8, 4, 256, 40, 0, dtype, {20, 40, 41, 700});
    add(6, 1, 72, 0, 5.0, dtype, {3, 300});
    add(2, 2, 8, 300, 2.0, dtype, {1, 299, 301, 1000});
  }
  return cases;
}

}  // namespace sluice::device_support
