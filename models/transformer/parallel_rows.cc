#include "models/transformer/parallel_rows.h"

#include <ATen/ATen.h>
#include <ATen/TensorIterator.h>

#include <atomic>
#include <cstdint>

namespace sluice {
namespace {

thread_local int serial = 0;  // how many SerialRows live

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SLUICE_THREAD_SANITIZER
#endif
#endif

// The OpenMP library is not instrumented: the thread sanitizer does not see that its workers start
// after the caller's writes and end before the caller goes on. This says it.
#ifdef SLUICE_THREAD_SANITIZER
std::atomic<uint32_t> fork_join{0};
void release_to_sanitizer() { fork_join.fetch_add(1, std::memory_order_release); }
void acquire_for_sanitizer() { static_cast<void>(fork_join.load(std::memory_order_acquire)); }
#else
void release_to_sanitizer() {}
void acquire_for_sanitizer() {}
#endif

}  // namespace

SerialRows::SerialRows() noexcept { ++serial; }
SerialRows::~SerialRows() { --serial; }

void parallel_rows(int64_t rows, int64_t grain, c10::function_ref<void(int64_t, int64_t)> f) {
  if (rows <= 0) return;
  if (rows <= grain || serial > 0) return f(0, rows);
  // An iterator over the row numbers runs on LibTorch's threads.
  at::Tensor numbers = at::arange(rows, at::kLong);
  auto iterator = at::TensorIterator::nullary_op(numbers);
  const auto chunk = [&](char** data, const int64_t* strides, int64_t inner, int64_t outer) {
    acquire_for_sanitizer();
    for (int64_t i = 0; i < outer; ++i) {
      const int64_t begin = *reinterpret_cast<const int64_t*>(data[0] + i * strides[1]);
      f(begin, begin + inner);
    }
    release_to_sanitizer();
  };
  release_to_sanitizer();
  iterator.for_each(chunk, grain);
  acquire_for_sanitizer();
}

}  // namespace sluice
