#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

/// Vectors of floats for the hand-written kernels: one kernel source, written against these types,
/// is compiled once per Isa with per-file flags. Only the matching source file may name Avx2 or
/// Avx512: no inline function compiled with wider instructions may leak into a portable file.
namespace sluice::simd {

/// Eight lanes in portable C++.
struct Plain {
  static constexpr int64_t kWidth = 8;
  struct V {
    float v[8];
  };
  struct Mask {
    bool v[8];
  };
#define SLUICE_LANES(expression)                     \
  V r;                                               \
  for (int i = 0; i < 8; ++i) r.v[i] = (expression); \
  return r
#define SLUICE_MASK(expression)                      \
  Mask r;                                            \
  for (int i = 0; i < 8; ++i) r.v[i] = (expression); \
  return r
  static V set(float x) { SLUICE_LANES(x); }
  static V load(const float* p) { SLUICE_LANES(p[i]); }
  static void store(float* p, V a) { std::memcpy(p, a.v, sizeof(a.v)); }
  /// p[0], p[stride], p[2 stride], ..
  static V load(const float* p, int64_t stride) { SLUICE_LANES(p[i * stride]); }
  static V add(V a, V b) { SLUICE_LANES(a.v[i] + b.v[i]); }
  static V sub(V a, V b) { SLUICE_LANES(a.v[i] - b.v[i]); }
  static V mul(V a, V b) { SLUICE_LANES(a.v[i] * b.v[i]); }
  static V div(V a, V b) { SLUICE_LANES(a.v[i] / b.v[i]); }
  static V sqrt(V a) { SLUICE_LANES(std::sqrt(a.v[i])); }
  static V min(V a, V b) { SLUICE_LANES(a.v[i] < b.v[i] ? a.v[i] : b.v[i]); }
  static V max(V a, V b) { SLUICE_LANES(a.v[i] > b.v[i] ? a.v[i] : b.v[i]); }
  static V fma(V a, V b, V c) { SLUICE_LANES(a.v[i] * b.v[i] + c.v[i]); }
  /// c - a * b
  static V fnma(V a, V b, V c) { SLUICE_LANES(c.v[i] - a.v[i] * b.v[i]); }
  static Mask less(V a, V b) { SLUICE_MASK(a.v[i] < b.v[i]); }
  static Mask equal(V a, V b) { SLUICE_MASK(a.v[i] == b.v[i]); }
  static V select(Mask m, V yes, V no) { SLUICE_LANES(m.v[i] ? yes.v[i] : no.v[i]); }
  static V round(V a) { SLUICE_LANES(std::nearbyint(a.v[i])); }
  /// a * 2^n for whole n in [-126, 127].
  static V scale2(V a, V n) {
    V r;
    for (int i = 0; i < 8; ++i) {
      // 1.5 * 2^23 + n has n in its low bits. No cast to an integer: n may be NaN when a is.
      const float biased = n.v[i] + 12582912.0F;
      uint32_t bits;
      std::memcpy(&bits, &biased, 4);
      bits = (bits + 127) << 23;
      float power;
      std::memcpy(&power, &bits, 4);
      r.v[i] = a.v[i] * power;
    }
    return r;
  }
  /// Splits a positive a into m * 2^e with m in [0.5, 1).
  static V fraction(V a, V& exponent) {
    V r;
    for (int i = 0; i < 8; ++i) {
      int32_t bits;
      std::memcpy(&bits, &a.v[i], 4);
      exponent.v[i] = static_cast<float>((bits >> 23) - 126);
      bits = (bits & 0x007fffff) | 0x3f000000;
      std::memcpy(&r.v[i], &bits, 4);
    }
    return r;
  }
  /// The sum of all lanes, halves first.
  static float sum(V a) {
    const float q[4] = {a.v[0] + a.v[4], a.v[1] + a.v[5], a.v[2] + a.v[6], a.v[3] + a.v[7]};
    return (q[0] + q[2]) + (q[1] + q[3]);
  }
#undef SLUICE_LANES
#undef SLUICE_MASK
};

#if defined(__AVX2__) && defined(__FMA__)
struct Avx2 {
  static constexpr int64_t kWidth = 8;
  using V = __m256;
  using Mask = __m256;
  static V set(float x) { return _mm256_set1_ps(x); }
  static V load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(float* p, V a) { _mm256_storeu_ps(p, a); }
  static V load(const float* p, int64_t s) {
    return _mm256_setr_ps(p[0], p[s], p[2 * s], p[3 * s], p[4 * s], p[5 * s], p[6 * s], p[7 * s]);
  }
  static V add(V a, V b) { return _mm256_add_ps(a, b); }
  static V sub(V a, V b) { return _mm256_sub_ps(a, b); }
  static V mul(V a, V b) { return _mm256_mul_ps(a, b); }
  static V div(V a, V b) { return _mm256_div_ps(a, b); }
  static V sqrt(V a) { return _mm256_sqrt_ps(a); }
  static V min(V a, V b) { return _mm256_min_ps(a, b); }
  static V max(V a, V b) { return _mm256_max_ps(a, b); }
  static V fma(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
  static V fnma(V a, V b, V c) { return _mm256_fnmadd_ps(a, b, c); }
  static Mask less(V a, V b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
  static Mask equal(V a, V b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
  static V select(Mask m, V yes, V no) { return _mm256_blendv_ps(no, yes, m); }
  static V round(V a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  static V scale2(V a, V n) {
    const __m256i bits =
        _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
    return _mm256_mul_ps(a, _mm256_castsi256_ps(bits));
  }
  static V fraction(V a, V& exponent) {
    const __m256i bits = _mm256_castps_si256(a);
    exponent =
        _mm256_cvtepi32_ps(_mm256_sub_epi32(_mm256_srli_epi32(bits, 23), _mm256_set1_epi32(126)));
    return _mm256_castsi256_ps(_mm256_or_si256(
        _mm256_and_si256(bits, _mm256_set1_epi32(0x007fffff)), _mm256_set1_epi32(0x3f000000)));
  }
  static float sum(V a) {
    __m128 h = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    h = _mm_add_ps(h, _mm_movehl_ps(h, h));
    return _mm_cvtss_f32(_mm_add_ss(h, _mm_movehdup_ps(h)));
  }
};
#endif

#if defined(__AVX512F__) && defined(__AVX512DQ__)
struct Avx512 {
  static constexpr int64_t kWidth = 16;
  using V = __m512;
  using Mask = __mmask16;
  static V set(float x) { return _mm512_set1_ps(x); }
  static V load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, V a) { _mm512_storeu_ps(p, a); }
  static V load(const float* p, int64_t s) {
    return _mm512_setr_ps(p[0], p[s], p[2 * s], p[3 * s], p[4 * s], p[5 * s], p[6 * s], p[7 * s],
                          p[8 * s], p[9 * s], p[10 * s], p[11 * s], p[12 * s], p[13 * s], p[14 * s],
                          p[15 * s]);
  }
  static V add(V a, V b) { return _mm512_add_ps(a, b); }
  static V sub(V a, V b) { return _mm512_sub_ps(a, b); }
  static V mul(V a, V b) { return _mm512_mul_ps(a, b); }
  static V div(V a, V b) { return _mm512_div_ps(a, b); }
  static V sqrt(V a) { return _mm512_sqrt_ps(a); }
  static V min(V a, V b) { return _mm512_min_ps(a, b); }
  static V max(V a, V b) { return _mm512_max_ps(a, b); }
  static V fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
  static V fnma(V a, V b, V c) { return _mm512_fnmadd_ps(a, b, c); }
  static Mask less(V a, V b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
  static Mask equal(V a, V b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
  static V select(Mask m, V yes, V no) { return _mm512_mask_blend_ps(m, no, yes); }
  static V round(V a) {
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  static V scale2(V a, V n) {
    const __m512i bits =
        _mm512_slli_epi32(_mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127)), 23);
    return _mm512_mul_ps(a, _mm512_castsi512_ps(bits));
  }
  static V fraction(V a, V& exponent) {
    const __m512i bits = _mm512_castps_si512(a);
    exponent =
        _mm512_cvtepi32_ps(_mm512_sub_epi32(_mm512_srli_epi32(bits, 23), _mm512_set1_epi32(126)));
    return _mm512_castsi512_ps(_mm512_or_si512(
        _mm512_and_si512(bits, _mm512_set1_epi32(0x007fffff)), _mm512_set1_epi32(0x3f000000)));
  }
  static float sum(V a) {
    const __m256 halves = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    __m128 h = _mm_add_ps(_mm256_castps256_ps128(halves), _mm256_extractf128_ps(halves, 1));
    h = _mm_add_ps(h, _mm_movehl_ps(h, h));
    return _mm_cvtss_f32(_mm_add_ss(h, _mm_movehdup_ps(h)));
  }
};
#endif

/// tanh, relative error below 4e-7: x P(x^2) / Q(x^2) of degrees (4, 3), fitted by a weighted
/// least-squares exchange to the relative error on [0, 7.9], beyond which float tanh is 1.
template <class S>
inline typename S::V tanh(typename S::V x) {
  x = S::max(S::set(-7.9F), S::min(S::set(7.9F), x));
  const auto t = S::mul(x, x);
  auto p = S::fma(S::set(-6.26141401638e-9F), t, S::set(7.22819522646e-6F));
  auto q = S::fma(S::set(0.000197865041702F), t, S::set(0.0228872495626F));
  p = S::fma(p, t, S::set(0.00270510420018F));
  q = S::fma(q, t, S::set(0.460540097551F));
  p = S::fma(p, t, S::set(0.127208317453F));
  q = S::fma(q, t, S::set(1.0F));
  p = S::fma(p, t, S::set(0.999999806684F));
  return S::div(S::mul(x, p), q);
}

/// exp for x clamped to [-87, 88]; relative error below 2e-7: e^x = 2^n e^r, |r| <= ln(2)/2, Taylor
/// to degree 7 for e^r.
template <class S>
inline typename S::V exp(typename S::V x) {
  x = S::max(S::set(-87.0F), S::min(S::set(88.0F), x));
  const auto n = S::round(S::mul(x, S::set(1.44269504F)));
  auto r = S::fnma(n, S::set(0.693359375F), x);  // ln(2) in two parts
  r = S::fnma(n, S::set(-2.12194440e-4F), r);
  auto p = S::fma(S::set(1.0F / 5040), r, S::set(1.0F / 720));
  p = S::fma(p, r, S::set(1.0F / 120));
  p = S::fma(p, r, S::set(1.0F / 24));
  p = S::fma(p, r, S::set(1.0F / 6));
  p = S::fma(p, r, S::set(0.5F));
  p = S::fma(p, r, S::set(1.0F));
  p = S::fma(p, r, S::set(1.0F));
  return S::scale2(p, n);
}

/// Natural logarithm of a positive normal x: x = m 2^e with m in [sqrt(1/2), sqrt(2)), and
/// log(m) = 2 atanh(s), s = (m - 1) / (m + 1), by its odd series to s^9.
template <class S>
inline typename S::V log(typename S::V x) {
  typename S::V e;
  auto m = S::fraction(x, e);
  const auto low = S::less(m, S::set(0.70710678F));
  m = S::select(low, S::add(m, m), m);
  e = S::select(low, S::sub(e, S::set(1.0F)), e);
  const auto s = S::div(S::sub(m, S::set(1.0F)), S::add(m, S::set(1.0F)));
  const auto t = S::mul(s, s);
  auto p = S::fma(S::set(2.0F / 9), t, S::set(2.0F / 7));
  p = S::fma(p, t, S::set(2.0F / 5));
  p = S::fma(p, t, S::set(2.0F / 3));
  p = S::mul(p, t);
  const auto tail = S::fma(e, S::set(-2.12194440e-4F), S::mul(p, s));
  return S::fma(e, S::set(0.693359375F), S::add(S::add(s, s), tail));
}

}  // namespace sluice::simd
