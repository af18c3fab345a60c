#include "models/transformer/logprobs/tile_softmax.h"

#include "models/transformer/logprobs/logits_tile.h"
#include "models/transformer/parallel_rows.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>

namespace sluice {
namespace {
/// Logits that are worth a thread.
constexpr int64_t kGrain = 1 << 15;

bool fits_kernels(const at::Device& device, at::ScalarType type) {
  return device.is_cpu() && type == at::kFloat;
}

/// f(row) for every row of a tile.
template <class F>
void each_row(int64_t rows, int64_t cols, const F& f) {
  parallel_rows(rows, std::max<int64_t>(1, kGrain / cols), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) f(row);
  });
}

/// Where a tile holds its rows' targets.
struct Places {
  Places(const at::Tensor& targets, int64_t col, int64_t cols)
      : inside(targets.ge(col).logical_and_(targets.lt(col + cols))),
        column((targets - col).clamp_(0, cols - 1).unsqueeze_(1)) {}
  at::Tensor inside;  ///< bool [rows]
  at::Tensor column;  ///< [rows, 1], somewhere when it is not inside
};
}  // namespace

OnlineSoftmax::OnlineSoftmax(int64_t rows, const at::TensorOptions& options, bool entropy)
    : entropy_(entropy),
      fused_(fits_kernels(options.device(), c10::typeMetaToScalarType(options.dtype()))),
      target_(at::zeros({rows}, options)) {
  if (fused_) {
    rows_.assign(static_cast<size_t>(rows), {-FLT_MAX, 0, 0});
    return;
  }
  max_ = at::full({rows}, -std::numeric_limits<double>::infinity(), options);
  sum_ = at::zeros({rows}, options);
  weighted_ = at::zeros({rows}, options);
}

void OnlineSoftmax::fold(const at::Tensor& tile, const at::Tensor& targets, int64_t col) {
  const Places places(targets, col, tile.size(1));
  target_ = at::where(places.inside, tile.gather(1, places.column).squeeze(1), target_);
  if (fused_) return fold_fused(tile);
  // A row of -inf only has no maximum to subtract.
  const at::Tensor max = at::maximum(max_, tile.amax(1)).clamp_min(-kLargest);
  const at::Tensor step = (max_ - max).clamp_min_(-kLargest);
  const at::Tensor factor = step.exp();
  tile.sub_(max.unsqueeze(1));
  if (entropy_) {
    const at::Tensor shifted = tile.clamp_min(-kLargest);  // 0 for e^-inf -inf
    tile.exp_();
    weighted_ = factor * (weighted_ + sum_ * step) + shifted.mul_(tile).sum(1);
  } else {
    tile.exp_();
  }
  sum_ = sum_ * factor + tile.sum(1);
  max_ = max;
}

void OnlineSoftmax::fold_fused(const at::Tensor& tile) {
  const SoftmaxKernels& kernels = softmax_kernels(active_isa());
  const auto* x = static_cast<const float*>(tile.const_data_ptr());
  const int64_t cols = tile.size(1);
  each_row(tile.size(0), cols, [&](int64_t row) {
    kernels.fold(x + row * cols, cols, entropy_, rows_[static_cast<size_t>(row)]);
  });
}

void OnlineSoftmax::finish(const at::Tensor& logprob, const at::Tensor& lse,
                           const at::Tensor& entropy) const {
  if (!fused_) {
    const at::Tensor log_sum = sum_.log();
    logprob.copy_((target_ - max_).sub_(log_sum));
    lse.copy_(max_ + log_sum);
    if (entropy_) entropy.copy_(log_sum - weighted_ / sum_);
    return;
  }
  const auto* target = static_cast<const float*>(target_.const_data_ptr());
  auto* logprobs = logprob.mutable_data_ptr<float>();
  auto* lses = lse.mutable_data_ptr<float>();
  auto* entropies = entropy_ ? entropy.mutable_data_ptr<float>() : nullptr;
  for (size_t i = 0; i < rows_.size(); ++i) {
    const SoftmaxRow& row = rows_[i];
    const double log_sum = std::log(row.sum), max = row.max;
    logprobs[i] = static_cast<float>(target[i] - max - log_sum);
    lses[i] = static_cast<float>(max + log_sum);
    if (entropy_) entropies[i] = static_cast<float>(log_sum - row.weighted / row.sum);
  }
}

RowGradients RowGradients::narrow(int64_t row, int64_t count) const {
  const auto part = [&](const at::Tensor& x) { return x.defined() ? x.narrow(0, row, count) : x; };
  return {part(lse), part(g), part(q), part(entropy)};
}

namespace {
void gradient_fused(const at::Tensor& tile, const RowGradients& rows) {
  const SoftmaxKernels& kernels = softmax_kernels(active_isa());
  const auto values = [](const at::Tensor& x) {
    return x.defined() ? static_cast<const float*>(x.const_data_ptr()) : nullptr;
  };
  auto* x = tile.mutable_data_ptr<float>();
  const float *lse = values(rows.lse), *g = values(rows.g), *q = values(rows.q),
              *entropy = values(rows.entropy);
  const int64_t cols = tile.size(1);
  each_row(tile.size(0), cols, [&](int64_t row) {
    kernels.gradient(x + row * cols, cols,
                     {lse[row], g != nullptr ? g[row] : 0, q != nullptr ? q[row] : 0,
                      q != nullptr ? entropy[row] : 0});
  });
}

void gradient_aten(const at::Tensor& tile, const RowGradients& rows) {
  tile.sub_(rows.lse.unsqueeze(1));
  if (!rows.q.defined()) {
    tile.exp_().mul_(rows.g.neg().unsqueeze(1));
    return;
  }
  const at::Tensor factor = tile.clamp_min(-kLargest).add_(rows.entropy.unsqueeze(1));
  factor.mul_(rows.q.unsqueeze(1));
  if (rows.g.defined()) factor.add_(rows.g.unsqueeze(1));
  tile.exp_().mul_(factor).neg_();
}
}  // namespace

void to_gradient(const at::Tensor& tile, const at::Tensor& targets, int64_t col,
                 const RowGradients& rows) {
  if (fits_kernels(tile.device(), tile.scalar_type())) {
    gradient_fused(tile, rows);
  } else {
    gradient_aten(tile, rows);
  }
  if (!rows.g.defined()) return;
  const Places places(targets, col, tile.size(1));
  tile.scatter_add_(1, places.column,
                    at::where(places.inside, rows.g, at::zeros_like(rows.g)).unsqueeze(1));
}

}  // namespace sluice
