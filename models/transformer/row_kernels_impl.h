#pragma once
#include "models/transformer/row_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>

// Plain loops that the compiler turns into vectors: each file that includes this is compiled for
// one instruction set. Sums keep kLanes partial sums, so that their order is the source's.
namespace sluice {
namespace {

constexpr int64_t kLanes = 32;

float total(const float* lanes) {
  double sum = 0;
  for (int64_t l = 0; l < kLanes; ++l) sum += static_cast<double>(lanes[l]);
  return static_cast<float>(sum);
}

/// exp by 2^n * e^f with |f| <= ln 2 / 2 and a polynomial of degree 6: below 2 ulp where it is
/// used.
inline float exp_of(float x) {
  constexpr float kLog2e = 1.44269504088896341F;
  constexpr float kLn2High = 0.693359375F;
  constexpr float kLn2Low = -2.12194440e-4F;
  constexpr float kRound = 12582912.0F;  // adding it leaves the nearest integer in the low bits
  x = std::min(std::max(x, -87.0F), 88.0F);
  const float shifted = x * kLog2e + kRound;
  const float n = shifted - kRound;
  const float f = (x - n * kLn2High) - n * kLn2Low;
  float p = 1.0F / 720;
  p = p * f + 1.0F / 120;
  p = p * f + 1.0F / 24;
  p = p * f + 1.0F / 6;
  p = p * f + 0.5F;
  p = p * f + 1.0F;
  p = p * f + 1.0F;
  uint32_t bits = 0;  // of `shifted`, not n cast to an integer: x may be NaN
  std::memcpy(&bits, &shifted, sizeof bits);
  bits = (bits + 127) << 23;
  float scale = 0;
  std::memcpy(&scale, &bits, sizeof scale);
  return p * scale;
}

void rms_norm(const float* x, const float* y, const float* w, float offset, double eps,
              int64_t rows, int64_t n, float* sum, float* out, float* r) {
  for (int64_t i = 0; i < rows; ++i) {
    const float* __restrict a = x + i * n;
    const float* h = a;
    if (y != nullptr) {
      const float* __restrict b = y + i * n;
      float* __restrict s = sum + i * n;
      for (int64_t j = 0; j < n; ++j) s[j] = a[j] + b[j];
      h = s;
    }
    float lanes[kLanes] = {};
    int64_t j = 0;
    for (; j + kLanes <= n; j += kLanes) {
      for (int64_t l = 0; l < kLanes; ++l) lanes[l] += h[j + l] * h[j + l];
    }
    for (; j < n; ++j) lanes[0] += h[j] * h[j];
    const float scale = static_cast<float>(
        1 / std::sqrt(static_cast<double>(total(lanes)) / static_cast<double>(n) + eps));
    r[i] = scale;
    float* __restrict o = out + i * n;
    for (int64_t c = 0; c < n; ++c) o[c] = h[c] * scale * (w[c] + offset);
  }
}

void rms_norm_backward(const float* dout, const float* dsum, const float* sum, const float* w,
                       float offset, const float* r, int64_t rows, int64_t n, float* dx,
                       float* dw) {
  for (int64_t i = 0; i < rows; ++i) {
    const float* __restrict g = dout + i * n;
    const float* __restrict h = sum + i * n;
    float* __restrict d = dx + i * n;
    float* __restrict gw = dw;
    const float scale = r[i];
    float lanes[kLanes] = {};
    int64_t j = 0;
    for (; j + kLanes <= n; j += kLanes) {
      for (int64_t l = 0; l < kLanes; ++l) {
        lanes[l] += g[j + l] * (w[j + l] + offset) * h[j + l];
      }
    }
    for (; j < n; ++j) lanes[0] += g[j] * (w[j] + offset) * h[j];
    // With x' = r h: dh = r (w dy - x' mean(w dy x')).
    const float mean = total(lanes) * scale * scale / static_cast<float>(n);
    for (int64_t c = 0; c < n; ++c) {
      gw[c] += g[c] * h[c] * scale;
      d[c] = scale * (g[c] * (w[c] + offset) - h[c] * mean);
    }
    if (dsum != nullptr) {
      const float* __restrict e = dsum + i * n;
      for (int64_t c = 0; c < n; ++c) d[c] += e[c];
    }
  }
}

void swiglu(const float* gate_up, int64_t rows, int64_t n, float* out) {
  for (int64_t i = 0; i < rows; ++i) {
    const float* __restrict gate = gate_up + 2 * i * n;
    const float* __restrict up = gate + n;
    float* __restrict o = out + i * n;
    for (int64_t j = 0; j < n; ++j) o[j] = gate[j] / (1.0F + exp_of(-gate[j])) * up[j];
  }
}

void swiglu_backward(const float* dout, const float* gate_up, int64_t rows, int64_t n,
                     float* dgate_up) {
  for (int64_t i = 0; i < rows; ++i) {
    const float* __restrict g = dout + i * n;
    const float* __restrict gate = gate_up + 2 * i * n;
    const float* __restrict up = gate + n;
    float* __restrict dgate = dgate_up + 2 * i * n;
    float* __restrict dup = dgate + n;
    for (int64_t j = 0; j < n; ++j) {
      const float s = 1.0F / (1.0F + exp_of(-gate[j]));
      const float silu = gate[j] * s;
      dup[j] = g[j] * silu;
      dgate[j] = g[j] * up[j] * (s + silu * (1.0F - s));
    }
  }
}

void rotate(const float* x, int64_t ldx, const float* cos, const float* sin, bool back,
            int64_t rows, int64_t heads, int64_t dim, int64_t half, float* out, int64_t ldo) {
  const float sign = back ? -1.0F : 1.0F;
  for (int64_t i = 0; i < rows; ++i) {
    const float* __restrict c = cos + i * half;
    const float* __restrict s = sin + i * half;
    for (int64_t h = 0; h < heads; ++h) {
      const float* __restrict a = x + i * ldx + h * dim;
      const float* __restrict b = a + half;
      float* __restrict p = out + i * ldo + h * dim;
      float* __restrict q = p + half;
      for (int64_t j = 0; j < half; ++j) {
        p[j] = a[j] * c[j] - b[j] * s[j] * sign;
        q[j] = b[j] * c[j] + a[j] * s[j] * sign;
      }
      const int64_t rest = dim - 2 * half;
      if (rest > 0) std::memcpy(q + half, b + half, static_cast<size_t>(rest) * sizeof(float));
    }
  }
}

constexpr RowKernels kTable = {rms_norm, rms_norm_backward, swiglu, swiglu_backward, rotate};

}  // namespace
}  // namespace sluice
