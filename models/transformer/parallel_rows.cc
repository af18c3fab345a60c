#include "models/transformer/parallel_rows.h"

#include <ATen/ATen.h>
#include <ATen/TensorIterator.h>

namespace sluice {
namespace {

thread_local int serial = 0;  // how many SerialRows live

}  // namespace

SerialRows::SerialRows() noexcept { ++serial; }
SerialRows::~SerialRows() { --serial; }

void parallel_rows(int64_t rows, int64_t grain, c10::function_ref<void(int64_t, int64_t)> f) {
  if (rows <= 0) return;
  if (rows <= grain || serial > 0) return f(0, rows);
  // An iterator over the row numbers runs on LibTorch's threads.
  at::Tensor numbers = at::arange(rows, at::kLong);
  auto iterator = at::TensorIterator::nullary_op(numbers);
  iterator.for_each(
      [&](char** data, const int64_t* strides, int64_t inner, int64_t outer) {
        for (int64_t i = 0; i < outer; ++i) {
          const int64_t begin = *reinterpret_cast<const int64_t*>(data[0] + i * strides[1]);
          f(begin, begin + inner);
        }
      },
      grain);
}

}  // namespace sluice
