#include "inference/kernels/kv_store.h"

#include "inference/kernels/rounding.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

namespace sluice {

std::string_view name(KvFormat format) noexcept {
  constexpr std::array<std::string_view, 3> kNames = {"fp32", "bf16", "int8"};
  return kNames.at(static_cast<size_t>(format));
}

int64_t element_size(KvFormat format) noexcept {
  if (format == KvFormat::Fp32) return 4;
  return format == KvFormat::Bf16 ? 2 : 1;
}

int64_t factor_size(KvFormat format) noexcept { return format == KvFormat::Int8 ? 4 : 0; }

void store_kv(KvFormat format, const float* from, int64_t head_dim, void* to, float* factor) {
  if (format == KvFormat::Fp32) {
    std::memcpy(to, from, static_cast<size_t>(head_dim) * sizeof(float));
    return;
  }
  if (format == KvFormat::Bf16) {
    auto* out = static_cast<uint16_t*>(to);
    for (int64_t d = 0; d < head_dim; ++d) out[d] = bf16_of(from[d]);
    return;
  }
  float largest = 0;
  float poison = 0;  // not a number as soon as one input is not finite
  for (int64_t d = 0; d < head_dim; ++d) {
    largest = std::max(largest, std::fabs(from[d]));
    poison += from[d] * 0.0F;
  }
  auto* out = static_cast<int8_t*>(to);
  if (!(poison == 0)) {
    std::fill_n(out, head_dim, int8_t{1});
    *factor = std::numeric_limits<float>::quiet_NaN();
    return;
  }
  // Below this the inverse would overflow; such a row is zero for all that can be computed with it.
  constexpr float kLeast = 1e-30F;
  *factor = largest > kLeast ? largest / 127 : 0.0F;
  const float inverse = largest > kLeast ? 127 / largest : 0.0F;
  for (int64_t d = 0; d < head_dim; ++d) {
    out[d] = static_cast<int8_t>(std::nearbyint(from[d] * inverse));
  }
}

void load_kv(KvFormat format, const void* from, const float* factor, int64_t head_dim, float* to) {
  if (format == KvFormat::Fp32) {
    std::memcpy(to, from, static_cast<size_t>(head_dim) * sizeof(float));
  } else if (format == KvFormat::Bf16) {
    const auto* in = static_cast<const uint16_t*>(from);
    for (int64_t d = 0; d < head_dim; ++d) to[d] = float_of_bf16(in[d]);
  } else {
    const auto* in = static_cast<const int8_t*>(from);
    for (int64_t d = 0; d < head_dim; ++d) to[d] = static_cast<float>(in[d]) * *factor;
  }
}

}  // namespace sluice
