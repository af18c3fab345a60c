#include "trainer/lm/flat_adam.h"

#include "models/transformer/parallel_rows.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace sluice {
namespace {

constexpr int64_t kShard = int64_t{1} << 16;  // numbers: a whole number of cache lines

/// f(shard, first, count) for the shards of [begin, end), on several threads.
template <class F>
void each_shard(int64_t begin, int64_t end, const F& f) {
  parallel_rows((end - begin + kShard - 1) / kShard, 1, [&](int64_t from, int64_t to) {
    for (int64_t shard = from; shard < to; ++shard) {
      const int64_t first = begin + shard * kShard;
      f(shard, first, std::min(kShard, end - first));
    }
  });
}

}  // namespace

FlatAdam::FlatAdam(int64_t size, int64_t decayed, const AdamConfig& config)
    : config_(config),
      decayed_(decayed),
      m_(at::zeros({size}, at::kFloat)),
      v_(at::zeros({size}, at::kFloat)) {}

void FlatAdam::step(float* parameters, const float* gradient, double learning_rate, double scale) {
  ++step_;
  auto* m = m_.mutable_data_ptr<float>();
  auto* v = v_.mutable_data_ptr<float>();
  AdamConfig config = config_;
  const auto shard = [&](int64_t, int64_t first, int64_t count) {
    adam_step(config, step_, learning_rate, scale,
              {count, parameters + first, gradient + first, m + first, v + first});
  };
  each_shard(0, decayed_, shard);
  config.weight_decay = 0;
  each_shard(decayed_, m_.numel(), shard);
}

double flat_norm(const float* values, int64_t n) {
  std::vector<double> squares(static_cast<size_t>((n + kShard - 1) / kShard));
  each_shard(0, n, [&](int64_t shard, int64_t first, int64_t count) {
    const double norm = global_norm(values + first, count);
    squares[static_cast<size_t>(shard)] = norm * norm;
  });
  double total = 0;
  for (const double s : squares) total += s;
  return std::sqrt(total);
}

}  // namespace sluice
