#pragma once
#include "dataflow/base/random.h"

#include <cstdint>

namespace sluice {

/// Where `index` goes in a permutation of 0..n-1 drawn by `key`, without a table: a Feistel network
/// on the smallest even number of bits that hold n, walked until it falls below n (Black and
/// Rogaway, CT-RSA 2002, "Ciphers with arbitrary finite domains"). 0 <= index < n; expected time
/// constant.
[[nodiscard]] int64_t permuted(RandomKey key, int64_t n, int64_t index) noexcept;

}  // namespace sluice
