#include "inference/kernels/linear_product.h"

#include "models/transformer/parallel_rows.h"

#include <algorithm>
#include <vector>

namespace sluice {
namespace {

// Fewer products than this are done by one thread: waking another takes longer.
constexpr int64_t kSmall = 65536;

}  // namespace

void linear_product(const LinearWeights& w, int64_t panels, const float* x, int64_t rows,
                    const float* bias, float* y, int64_t ldy) {
  static const LinearKernels& kernels = linear_kernels(active_isa());
  const int64_t per_panel = std::max<int64_t>(1, rows * w.in * LinearPanel::kWidth);
  parallel_rows(panels, std::max<int64_t>(1, kSmall / per_panel), [&](int64_t begin, int64_t end) {
    thread_local std::vector<float> scratch;
    const auto floats = static_cast<size_t>(kernels.scratch());
    if (scratch.size() < floats) scratch.resize(floats);
    kernels.multiply(w, begin, end, x, w.in, rows, bias, y, ldy, scratch.data());
  });
}

}  // namespace sluice
