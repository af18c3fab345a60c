#pragma once
#include <cstdint>

namespace sluice::bench {

/// What the machine can do, measured when asked: the bounds that results are held against.

/// Bytes per second that LibTorch's threads read from memory: the sum of a buffer much larger than
/// the caches, best of a few passes.
[[nodiscard]] double read_bandwidth();

/// Floating-point operations per second of LibTorch's fp32 product [1024, 1024] x [1024, 1024] on
/// its threads, best of a few.
[[nodiscard]] double gemm_peak();

}  // namespace sluice::bench
