#pragma once
#include <c10/util/FunctionRef.h>

#include <cstdint>

namespace sluice {

/// f(begin, end) for disjoint ranges that cover [0, rows), on the threads that LibTorch's own
/// operations use, at least `grain` rows to a thread. (at::parallel_for is serial in files that are
/// compiled without OpenMP.) `f` must not throw.
void parallel_rows(int64_t rows, int64_t grain, c10::function_ref<void(int64_t, int64_t)> f);

/// While one lives, parallel_rows() of its thread runs there alone: for work that should leave the
/// other processors to another thread's.
class SerialRows {
 public:
  SerialRows() noexcept;
  ~SerialRows();
  SerialRows(const SerialRows&) = delete;
  SerialRows& operator=(const SerialRows&) = delete;
};

}  // namespace sluice
