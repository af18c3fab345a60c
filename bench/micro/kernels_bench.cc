// Speed of the inference kernels at SmolLM2-135M's shapes, on LibTorch's threads. `share` compares
// with a bound measured in the same run: what a loop that only reads memory reaches (products of
// few rows and attention), or LibTorch's own product of 1024^3 (products of many rows).
#include "dataflow/base/result.h"
#include "inference/kernels/linear_product.h"
#include "inference/kernels/packed_matrix.h"
#include "inference/kernels/paged_attention.h"
#include "models/transformer/parallel_rows.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <vector>

namespace sluice {
namespace {

struct Shape {
  int64_t out;
  int64_t in;
};

/// Every product of one token: q, k and v; output; gate and up; down; and the head.
std::vector<Shape> model_shapes() {
  std::vector<Shape> shapes;
  for (int layer = 0; layer < 30; ++layer) {
    for (const Shape s : {Shape{960, 576}, Shape{576, 576}, Shape{3072, 576}, Shape{576, 1536}}) {
      shapes.push_back(s);
    }
  }
  shapes.push_back({49152, 576});
  return shapes;
}

/// Seconds of the fastest of some runs.
template <class F>
double fastest(int runs, const F& f) {
  double best = 1e30;
  for (int i = 0; i < runs; ++i) {
    const auto start = std::chrono::steady_clock::now();
    f();
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    best = std::min(best, spent.count());
  }
  return best;
}

/// Sums a large array: bytes per second.
double read_bandwidth() {
  static const double best = [] {
    const at::Tensor memory = at::ones({32 << 20}, at::kLong);
    const auto* data = static_cast<const int64_t*>(memory.const_data_ptr());
    constexpr int64_t kPart = 8192;
    std::vector<int64_t> sums(static_cast<size_t>(memory.numel() / kPart));
    const double seconds = fastest(9, [&] {
      parallel_rows(memory.numel() / kPart, 1, [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; ++p) {
          int64_t lanes[8] = {};
          for (int64_t i = p * kPart; i < (p + 1) * kPart; i += 8) {
            for (int64_t l = 0; l < 8; ++l) lanes[l] += data[i + l];
          }
          for (const int64_t x : lanes) sums[static_cast<size_t>(p)] += x;
        }
      });
      benchmark::DoNotOptimize(sums.data());
    });
    return static_cast<double>(memory.nbytes()) / seconds;
  }();
  return best;
}

/// LibTorch's product of 1024^3: operations per second.
double product_peak() {
  static const double best = [] {
    const at::NoGradGuard no_grad;
    const at::Tensor a = at::rand({1024, 1024});
    const at::Tensor b = at::rand({1024, 1024});
    at::Tensor c = at::empty({1024, 1024});
    return 2.0 * 1024 * 1024 * 1024 / fastest(15, [&] { at::mm_out(c, a, b); });
  }();
  return best;
}

void report(benchmark::State& state, double bytes, double operations) {
  const auto runs = static_cast<double>(state.iterations());
  const auto rate = benchmark::Counter::kIsRate;
  if (bytes > 0) {
    state.counters["GB/s"] = benchmark::Counter(bytes * runs * 1e-9, rate);
    state.counters["share"] = benchmark::Counter(bytes * runs / read_bandwidth(), rate);
  } else {
    state.counters["share"] = benchmark::Counter(operations * runs / product_peak(), rate);
  }
  if (operations > 0) {
    state.counters["GFLOP/s"] = benchmark::Counter(operations * runs * 1e-9, rate);
  }
}

void read_memory(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(read_bandwidth());
  state.counters["GB/s"] = read_bandwidth() * 1e-9;
}
BENCHMARK(read_memory)->Iterations(1);

void mm_1024(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(product_peak());
  state.counters["GFLOP/s"] = product_peak() * 1e-9;
}
BENCHMARK(mm_1024)->Iterations(1);

/// All products of `rows` tokens.
void model_products(benchmark::State& state) {
  const auto format = static_cast<WeightFormat>(state.range(0));
  const int64_t rows = state.range(1);
  struct Layer {
    PackedMatrix matrix;
    std::vector<float> y;
  };
  std::vector<Layer> layers;
  double bytes = 0;
  double weights = 0;
  for (const Shape& s : model_shapes()) {
    PackedMatrix matrix(format, {s.out}, s.in);
    const std::vector<float> weight(static_cast<size_t>(s.out * s.in), 0.01F);
    matrix.pack(0, weight.data());
    bytes += static_cast<double>(matrix.bytes());
    weights += static_cast<double>(s.out * s.in);
    layers.push_back({std::move(matrix), std::vector<float>(static_cast<size_t>(s.out * rows))});
  }
  const std::vector<float> x(static_cast<size_t>(rows * 1536), 0.5F);
  for (auto _ : state) {
    for (Layer& layer : layers) {
      const PackedMatrix& m = layer.matrix;
      linear_product(m.view(), m.panels(), x.data(), rows, nullptr, layer.y.data(), m.column(1));
    }
    benchmark::ClobberMemory();
  }
  state.SetLabel(std::string(name(format)));
  report(state, rows == 1 ? bytes : 0, 2 * weights * static_cast<double>(rows));
}
BENCHMARK(model_products)
    ->ArgNames({"format", "rows"})
    ->ArgsProduct({{0, 1, 2}, {1, 2, 4, 8, 16, 64, 256}})
    ->UseRealTime()
    ->MinTime(0.5);

/// The same by LibTorch.
void model_mm(benchmark::State& state) {
  const at::NoGradGuard no_grad;
  const int64_t rows = state.range(0);
  std::vector<at::Tensor> weights;
  std::vector<at::Tensor> outputs;
  double count = 0;
  for (const Shape& s : model_shapes()) {
    weights.push_back(at::full({s.out, s.in}, 0.01));
    outputs.push_back(at::empty({rows, s.out}));
    count += static_cast<double>(s.out * s.in);
  }
  const at::Tensor x = at::full({rows, 1536}, 0.5);
  const at::Tensor narrow = at::full({rows, 576}, 0.5);
  for (auto _ : state) {
    for (size_t i = 0; i < weights.size(); ++i) {
      at::mm_out(outputs[i], weights[i].size(1) == 576 ? narrow : x, weights[i].t());
    }
  }
  report(state, rows == 1 ? 4 * count : 0, 2 * count * static_cast<double>(rows));
}
BENCHMARK(model_mm)->ArgName("rows")->Arg(1)->Arg(64)->Arg(256)->UseRealTime()->MinTime(0.5);

/// One layer's attention of `rows` sequences that each see `context` keys.
void attention(benchmark::State& state) {
  const auto format = static_cast<KvFormat>(state.range(0));
  const int64_t rows = state.range(1);
  const int64_t context = state.range(2);
  AttentionSpec spec;
  spec.heads = 9;
  spec.kv_heads = 3;
  spec.head_dim = 64;
  spec.scale = 0.125;
  PagedKvView kv;
  kv.format = format;
  kv.block_size = 32;
  kv.slot_stride = spec.head_dim;
  kv.head_stride = kv.block_size * kv.slot_stride;
  kv.block_stride = spec.kv_heads * kv.head_stride;
  const int64_t blocks = context / kv.block_size;
  const int64_t size = format == KvFormat::Fp32 ? 4 : format == KvFormat::Bf16 ? 2 : 1;
  const auto bytes = static_cast<size_t>(rows * blocks * kv.block_stride * size);
  const std::vector<char> k(bytes);
  const std::vector<char> v(bytes);
  const std::vector<float> factors(bytes / static_cast<size_t>(size * spec.head_dim), 0.01F);
  kv.k = k.data();
  kv.v = v.data();
  kv.k_factors = factors.data();
  kv.v_factors = factors.data();
  std::vector<int32_t> tables(static_cast<size_t>(rows * blocks));
  for (size_t i = 0; i < tables.size(); ++i) tables[i] = static_cast<int32_t>(i);
  std::vector<PagedRow> queries;
  for (int64_t r = 0; r < rows; ++r) queries.push_back({tables.data() + r * blocks, context});
  const std::vector<float> q(static_cast<size_t>(rows * spec.heads * spec.head_dim), 0.5F);
  std::vector<float> out(q.size());
  for (auto _ : state) {
    paged_attention(spec, q.data(), kv, queries, out.data());
    benchmark::ClobberMemory();
  }
  report(state, 2 * static_cast<double>(bytes),
         4.0 * static_cast<double>(rows * context * spec.heads * spec.head_dim));
}
BENCHMARK(attention)
    ->ArgNames({"format", "rows", "context"})
    ->ArgsProduct({{0, 1, 2}, {1, 64}, {128, 1024, 4096}})
    ->UseRealTime()
    ->MinTime(0.3);

/// A prompt's attention: every token of it a row.
void prompt_attention(benchmark::State& state) {
  const int64_t tokens = state.range(0);
  AttentionSpec spec;
  spec.heads = 9;
  spec.kv_heads = 3;
  spec.head_dim = 64;
  spec.scale = 0.125;
  PagedKvView kv;
  kv.block_size = tokens;
  kv.slot_stride = spec.head_dim;
  kv.head_stride = kv.block_size * kv.slot_stride;
  kv.block_stride = spec.kv_heads * kv.head_stride;
  const std::vector<float> k(static_cast<size_t>(kv.block_stride), 0.5F);
  kv.k = k.data();
  kv.v = k.data();
  const int32_t block = 0;
  std::vector<PagedRow> rows;
  for (int64_t t = 1; t <= tokens; ++t) rows.push_back({&block, t});
  const std::vector<float> q(static_cast<size_t>(tokens * spec.heads * spec.head_dim), 0.5F);
  std::vector<float> out(q.size());
  for (auto _ : state) {
    paged_attention(spec, q.data(), kv, rows, out.data());
    benchmark::ClobberMemory();
  }
  report(state, 0, 2.0 * static_cast<double>(tokens * tokens * spec.heads * spec.head_dim));
}
BENCHMARK(prompt_attention)->ArgName("tokens")->Arg(256)->Arg(2048)->UseRealTime()->MinTime(0.3);

}  // namespace
}  // namespace sluice

BENCHMARK_MAIN();
