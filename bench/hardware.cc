#include "bench/hardware.h"

#include "dataflow/base/clock.h"
#include "models/transformer/parallel_rows.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>

namespace sluice::bench {
namespace {

constexpr int kPasses = 7;

/// Least seconds of a few calls, after one that is not counted.
template <class F>
double best_seconds(const F& f) {
  const RealClock& clock = RealClock::instance();
  f();
  TimeNs best = kForever;
  for (int i = 0; i < kPasses; ++i) {
    const TimeNs then = clock.now();
    f();
    best = std::min(best, clock.now() - then);
  }
  return static_cast<double>(best) * 1e-9;
}

/// Eight sums side by side, so that no addition waits for the one before.
uint64_t sum(const uint64_t* data, int64_t count) {
  uint64_t sums[8] = {};
  for (int64_t i = 0; i + 8 <= count; i += 8) {
    for (int j = 0; j < 8; ++j) sums[j] += data[i + j];
  }
  uint64_t total = 0;
  for (const uint64_t s : sums) total += s;
  return total;
}

}  // namespace

double read_bandwidth() {
  constexpr int64_t kWords = int64_t{1} << 25;  // 256 MiB
  constexpr size_t kBytes = kWords * sizeof(uint64_t);
  // Large pages, as packed weights have.
  const std::unique_ptr<uint64_t[], decltype(&std::free)> buffer(
      static_cast<uint64_t*>(std::aligned_alloc(size_t{1} << 21, kBytes)), &std::free);
  if (buffer == nullptr) return 0;
  static_cast<void>(::madvise(buffer.get(), kBytes, MADV_HUGEPAGE));
  std::fill_n(buffer.get(), kWords, 1);
  const uint64_t* words = buffer.get();
  std::atomic<uint64_t> total{0};  // so that the sums are needed
  const double seconds = best_seconds([&] {
    parallel_rows(kWords / 4096, 1, [&](int64_t begin, int64_t end) {
      total += sum(words + begin * 4096, (end - begin) * 4096);
    });
  });
  return static_cast<double>(kWords) * sizeof(uint64_t) / seconds;
}

double gemm_peak() {
  constexpr int64_t kSide = 1024;
  const at::NoGradGuard no_grad;
  const at::Tensor a = at::randn({kSide, kSide});
  const at::Tensor b = at::randn({kSide, kSide});
  at::Tensor c = at::empty({kSide, kSide});
  return 2. * kSide * kSide * kSide / best_seconds([&] { at::mm_out(c, a, b); });
}

}  // namespace sluice::bench
