#include "inference/kernels/linear_product.h"

#include "inference/kernels/bf16_kernels.h"
#include "models/transformer/parallel_rows.h"

#include <algorithm>
#include <vector>

namespace sluice {
namespace {

// Fewer products, or inputs to round, than this are done by one thread: waking another takes
// longer.
constexpr int64_t kSmall = 65536;

const LinearKernels& kernels() {
  static const LinearKernels& table = linear_kernels(active_isa());
  return table;
}

/// Memory of the calling thread that outlives the call.
template <class T>
T* scratch(int64_t count) {
  thread_local std::vector<T> memory;
  if (memory.size() < static_cast<size_t>(count)) memory.resize(static_cast<size_t>(count));
  return memory.data();
}

}  // namespace

void linear_product(const LinearWeights& w, int64_t panels, const float* x, int64_t rows,
                    const float* bias, float* y, int64_t ldy) {
  const int64_t per_panel = std::max<int64_t>(1, rows * w.in * LinearPanel::kWidth);
  const int64_t grain = std::max<int64_t>(1, kSmall / per_panel);
  if (w.format == WeightFormat::Bf16 && active_bf16_unit() != Bf16Unit::None) {
    static const Bf16Kernels& unit = bf16_kernels(active_bf16_unit());
    auto* inputs = scratch<uint16_t>(Bf16Rows::size(rows, w.in));
    parallel_rows(rows, std::max<int64_t>(1, kSmall / w.in), [&](int64_t begin, int64_t end) {
      round_to_bf16(x + begin * w.in, w.in, end - begin, w.in,
                    inputs + begin * Bf16Rows::stride(w.in));
    });
    parallel_rows(panels, grain, [&](int64_t begin, int64_t end) {
      unit.multiply(w, begin, end, inputs, rows, bias, y, ldy);
    });
    return;
  }
  if (w.format != WeightFormat::Int8) {
    parallel_rows(panels, grain, [&](int64_t begin, int64_t end) {
      kernels().multiply(w, begin, end, x, w.in, rows, bias, y, ldy,
                         scratch<float>(kernels().scratch()));
    });
    return;
  }
  const int64_t stride = RoundedRows::stride(w.in);
  auto* numbers = scratch<int16_t>(rows * stride);
  auto* factors = scratch<float>(rows * w.groups());
  parallel_rows(rows, std::max<int64_t>(1, kSmall / w.in), [&](int64_t begin, int64_t end) {
    kernels().round(w, x + begin * w.in, w.in, end - begin, numbers + begin * stride,
                    factors + begin * w.groups());
  });
  const RoundedRows rounded = {numbers, factors};
  parallel_rows(panels, grain, [&](int64_t begin, int64_t end) {
    kernels().multiply_rounded(w, begin, end, rounded, rows, bias, y, ldy);
  });
}

}  // namespace sluice
