#pragma once
// Sixteen floats at a time, spelled for the instruction set that the including file is compiled
// for. Every operation is the same in all spellings, bit for bit: lane by lane, fused multiply-add
// rounded once, sums across lanes by the same tree. A kernel written with it gives one result on
// every machine. Include it from the kernels_*.cc files only.
#include <cstdint>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#else
#include <cmath>
#endif

namespace sluice {
namespace {

#if defined(__AVX512F__)

struct F16 {
  __m512 v;
};
inline F16 zero16() { return {_mm512_setzero_ps()}; }
inline F16 all16(float x) { return {_mm512_set1_ps(x)}; }
inline F16 load16(const float* p) { return {_mm512_loadu_ps(p)}; }
inline void store16(float* p, F16 a) { _mm512_storeu_ps(p, a.v); }
inline F16 add(F16 a, F16 b) { return {_mm512_add_ps(a.v, b.v)}; }
inline F16 sub(F16 a, F16 b) { return {_mm512_sub_ps(a.v, b.v)}; }
inline F16 mul(F16 a, F16 b) { return {_mm512_mul_ps(a.v, b.v)}; }
inline F16 div(F16 a, F16 b) { return {_mm512_div_ps(a.v, b.v)}; }
/// a b + c, rounded once.
inline F16 fma(F16 a, F16 b, F16 c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
/// The second where either is not a number.
inline F16 max(F16 a, F16 b) { return {_mm512_max_ps(a.v, b.v)}; }
inline F16 min(F16 a, F16 b) { return {_mm512_min_ps(a.v, b.v)}; }
/// a, but 0 where x < bound.
inline F16 zero_below(F16 a, F16 x, F16 bound) {
  return {_mm512_maskz_mov_ps(static_cast<__mmask16>(~_mm512_cmp_ps_mask(x.v, bound.v, _CMP_LT_OQ)),
                              a.v)};
}
/// 2^n for whole n within the normal range.
inline F16 power_of_two(F16 n) {
  const __m512i i = _mm512_add_epi32(_mm512_cvtps_epi32(n.v), _mm512_set1_epi32(127));
  return {_mm512_castsi512_ps(_mm512_slli_epi32(i, 23))};
}
inline F16 load_bf16(const uint16_t* p) {
  const __m256i h = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16))};
}
inline F16 load_int8(const int8_t* p) {
  const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(b))};
}
inline __m512i words(const void* p) { return _mm512_loadu_si512(p); }
/// Of 16 pairs of bf16 the first, or the second, numbers.
inline F16 first_of_pairs(const uint16_t* p) {
  return {_mm512_castsi512_ps(_mm512_slli_epi32(words(p), 16))};
}
inline F16 second_of_pairs(const uint16_t* p) {
  return {_mm512_castsi512_ps(
      _mm512_and_si512(words(p), _mm512_set1_epi32(static_cast<int>(0xFFFF0000U))))};
}
/// Rounded to nearest even, for magnitudes up to 32767.
inline void store_rounded(int16_t* p, F16 a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                      _mm512_cvtepi32_epi16(_mm512_cvtps_epi32(a.v)));
}

/// Sixteen whole numbers of 32 bits, and sixteen pairs of 16 bits.
struct I16 {
  __m512i v;
};
struct Pairs16 {
  __m512i v;
};
inline I16 int_zero16() { return {_mm512_setzero_si512()}; }
inline Pairs16 load_pairs(const int8_t* p) {
  return {_mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
}
/// The same pair in all sixteen.
inline Pairs16 all_pairs(const int16_t* p) {
  int32_t both = 0;
  std::memcpy(&both, p, sizeof both);
  return {_mm512_set1_epi32(both)};
}
/// sum + a0 b0 + a1 b1, pair by pair.
inline I16 add_products(I16 sum, Pairs16 a, Pairs16 b) {
  return {_mm512_add_epi32(sum.v, _mm512_madd_epi16(a.v, b.v))};
}
inline F16 floats_of(I16 a) { return {_mm512_cvtepi32_ps(a.v)}; }
inline __m256 folded(F16 a) {
  return _mm256_add_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
}
inline __m256 folded_max(F16 a) {
  return _mm256_max_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
}

#elif defined(__AVX2__)

struct F16 {
  __m256 lo;
  __m256 hi;
};
inline F16 zero16() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
inline F16 all16(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
inline F16 load16(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
inline void store16(float* p, F16 a) {
  _mm256_storeu_ps(p, a.lo);
  _mm256_storeu_ps(p + 8, a.hi);
}
inline F16 add(F16 a, F16 b) { return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)}; }
inline F16 sub(F16 a, F16 b) { return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)}; }
inline F16 mul(F16 a, F16 b) { return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)}; }
inline F16 div(F16 a, F16 b) { return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)}; }
/// a b + c, rounded once.
inline F16 fma(F16 a, F16 b, F16 c) {
  return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}
/// The second where either is not a number.
inline F16 max(F16 a, F16 b) { return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)}; }
inline F16 min(F16 a, F16 b) { return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)}; }
/// a, but 0 where x < bound.
inline F16 zero_below(F16 a, F16 x, F16 bound) {
  return {_mm256_andnot_ps(_mm256_cmp_ps(x.lo, bound.lo, _CMP_LT_OQ), a.lo),
          _mm256_andnot_ps(_mm256_cmp_ps(x.hi, bound.hi, _CMP_LT_OQ), a.hi)};
}
inline __m256 power_of_two8(__m256 n) {
  const __m256i i = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
  return _mm256_castsi256_ps(_mm256_slli_epi32(i, 23));
}
/// 2^n for whole n within the normal range.
inline F16 power_of_two(F16 n) { return {power_of_two8(n.lo), power_of_two8(n.hi)}; }
inline __m256 load_bf16x8(const uint16_t* p) {
  const __m128i h = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16));
}
inline F16 load_bf16(const uint16_t* p) { return {load_bf16x8(p), load_bf16x8(p + 8)}; }
inline __m256 load_int8x8(const int8_t* p) {
  const __m128i b = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(b));
}
inline F16 load_int8(const int8_t* p) { return {load_int8x8(p), load_int8x8(p + 8)}; }
inline __m256i words(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
/// Of 16 pairs of bf16 the first, or the second, numbers.
inline F16 first_of_pairs(const uint16_t* p) {
  return {_mm256_castsi256_ps(_mm256_slli_epi32(words(p), 16)),
          _mm256_castsi256_ps(_mm256_slli_epi32(words(p + 16), 16))};
}
inline F16 second_of_pairs(const uint16_t* p) {
  const __m256i high = _mm256_set1_epi32(static_cast<int>(0xFFFF0000U));
  return {_mm256_castsi256_ps(_mm256_and_si256(words(p), high)),
          _mm256_castsi256_ps(_mm256_and_si256(words(p + 16), high))};
}
/// Rounded to nearest even, for magnitudes up to 32767.
inline void store_rounded(int16_t* p, F16 a) {
  const __m256i packed = _mm256_packs_epi32(_mm256_cvtps_epi32(a.lo), _mm256_cvtps_epi32(a.hi));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_permute4x64_epi64(packed, 0xD8));
}

/// Sixteen whole numbers of 32 bits, and sixteen pairs of 16 bits.
struct I16 {
  __m256i lo;
  __m256i hi;
};
struct Pairs16 {
  __m256i lo;
  __m256i hi;
};
inline I16 int_zero16() { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
inline __m256i load_pairs8(const int8_t* p) {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
inline Pairs16 load_pairs(const int8_t* p) { return {load_pairs8(p), load_pairs8(p + 16)}; }
/// The same pair in all sixteen.
inline Pairs16 all_pairs(const int16_t* p) {
  int32_t both = 0;
  std::memcpy(&both, p, sizeof both);
  return {_mm256_set1_epi32(both), _mm256_set1_epi32(both)};
}
/// sum + a0 b0 + a1 b1, pair by pair.
inline I16 add_products(I16 sum, Pairs16 a, Pairs16 b) {
  return {_mm256_add_epi32(sum.lo, _mm256_madd_epi16(a.lo, b.lo)),
          _mm256_add_epi32(sum.hi, _mm256_madd_epi16(a.hi, b.hi))};
}
inline F16 floats_of(I16 a) { return {_mm256_cvtepi32_ps(a.lo), _mm256_cvtepi32_ps(a.hi)}; }
inline __m256 folded(F16 a) { return _mm256_add_ps(a.lo, a.hi); }
inline __m256 folded_max(F16 a) { return _mm256_max_ps(a.lo, a.hi); }

#else

struct F16 {
  float v[16];
};
template <class F>
inline F16 lanes(const F& f) {
  F16 r;
  for (int i = 0; i < 16; ++i) r.v[i] = f(i);
  return r;
}
inline uint32_t bits_of(float x) {
  uint32_t u = 0;
  std::memcpy(&u, &x, sizeof u);
  return u;
}
inline float float_of(uint32_t u) {
  float x = 0;
  std::memcpy(&x, &u, sizeof x);
  return x;
}
inline F16 zero16() {
  return lanes([](int) { return 0.0F; });
}
inline F16 all16(float x) {
  return lanes([&](int) { return x; });
}
inline F16 load16(const float* p) {
  return lanes([&](int i) { return p[i]; });
}
inline void store16(float* p, const F16& a) { std::memcpy(p, a.v, sizeof a.v); }
inline F16 add(const F16& a, const F16& b) {
  return lanes([&](int i) { return a.v[i] + b.v[i]; });
}
inline F16 sub(const F16& a, const F16& b) {
  return lanes([&](int i) { return a.v[i] - b.v[i]; });
}
inline F16 mul(const F16& a, const F16& b) {
  return lanes([&](int i) { return a.v[i] * b.v[i]; });
}
inline F16 div(const F16& a, const F16& b) {
  return lanes([&](int i) { return a.v[i] / b.v[i]; });
}
/// a b + c, rounded once.
inline F16 fma(const F16& a, const F16& b, const F16& c) {
  return lanes([&](int i) { return std::fma(a.v[i], b.v[i], c.v[i]); });
}
/// The second where either is not a number.
inline F16 max(const F16& a, const F16& b) {
  return lanes([&](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; });
}
inline F16 min(const F16& a, const F16& b) {
  return lanes([&](int i) { return a.v[i] < b.v[i] ? a.v[i] : b.v[i]; });
}
/// a, but 0 where x < bound.
inline F16 zero_below(const F16& a, const F16& x, const F16& bound) {
  return lanes([&](int i) { return x.v[i] < bound.v[i] ? 0.0F : a.v[i]; });
}
/// 2^n for whole n within the normal range.
inline F16 power_of_two(const F16& n) {
  return lanes([&](int i) {
    // Not a number stays out of the conversion, whose result would be undefined.
    const int whole = n.v[i] == n.v[i] ? static_cast<int>(n.v[i]) : 0;
    return float_of(static_cast<uint32_t>(whole + 127) << 23);
  });
}
inline F16 load_bf16(const uint16_t* p) {
  return lanes([&](int i) { return float_of(static_cast<uint32_t>(p[i]) << 16); });
}
inline F16 load_int8(const int8_t* p) {
  return lanes([&](int i) { return static_cast<float>(p[i]); });
}
/// Of 16 pairs of bf16 the first, or the second, numbers.
inline F16 first_of_pairs(const uint16_t* p) {
  return lanes([&](int i) { return float_of(static_cast<uint32_t>(p[2 * i]) << 16); });
}
inline F16 second_of_pairs(const uint16_t* p) {
  return lanes([&](int i) { return float_of(static_cast<uint32_t>(p[2 * i + 1]) << 16); });
}
/// Rounded to nearest even, for magnitudes up to 32767.
inline void store_rounded(int16_t* p, const F16& a) {
  for (int i = 0; i < 16; ++i) p[i] = static_cast<int16_t>(std::nearbyint(a.v[i]));
}

/// Sixteen whole numbers of 32 bits, and sixteen pairs of 16 bits.
struct I16 {
  int32_t v[16];
};
struct Pairs16 {
  int16_t v[32];
};
inline I16 int_zero16() { return {}; }
inline Pairs16 load_pairs(const int8_t* p) {
  Pairs16 r;
  for (int i = 0; i < 32; ++i) r.v[i] = p[i];
  return r;
}
/// The same pair in all sixteen.
inline Pairs16 all_pairs(const int16_t* p) {
  Pairs16 r;
  for (int i = 0; i < 32; ++i) r.v[i] = p[i % 2];
  return r;
}
/// sum + a0 b0 + a1 b1, pair by pair.
inline I16 add_products(const I16& sum, const Pairs16& a, const Pairs16& b) {
  I16 r;
  for (int i = 0; i < 16; ++i) {
    const auto product = [&](int at) { return static_cast<int32_t>(a.v[at]) * b.v[at]; };
    r.v[i] = sum.v[i] + product(2 * i) + product(2 * i + 1);
  }
  return r;
}
inline F16 floats_of(const I16& a) {
  return lanes([&](int i) { return static_cast<float>(a.v[i]); });
}

#endif

#if defined(__AVX2__)

struct F8 {
  __m256 v;
};
/// Lane i plus lane i + 8.
inline F8 fold(F16 a) { return {folded(a)}; }
/// out[i] = sum of the lanes of what v[i] was folded from: + 8, then + 4, + 2, + 1.
inline void sums8(const F8 (&v)[8], float* out) {
  __m256 q[4];  // q[i]: four sums of vector i, then four of vector i + 4
  for (int i = 0; i < 4; ++i) {
    q[i] = _mm256_add_ps(_mm256_permute2f128_ps(v[i].v, v[i + 4].v, 0x20),
                         _mm256_permute2f128_ps(v[i].v, v[i + 4].v, 0x31));
  }
  __m256 d[2];  // in each half: two sums of vector 2i, then two of 2i + 1
  for (int i = 0; i < 2; ++i) {
    d[i] = _mm256_add_ps(_mm256_shuffle_ps(q[2 * i], q[2 * i + 1], 0x44),
                         _mm256_shuffle_ps(q[2 * i], q[2 * i + 1], 0xEE));
  }
  _mm256_storeu_ps(
      out, _mm256_add_ps(_mm256_shuffle_ps(d[0], d[1], 0x88), _mm256_shuffle_ps(d[0], d[1], 0xDD)));
}
/// The sum of the lanes, by the same tree.
inline float sum16(F16 a) {
  const __m256 f = folded(a);
  const __m128 q = _mm_add_ps(_mm256_castps256_ps128(f), _mm256_extractf128_ps(f, 1));
  const __m128 d = _mm_add_ps(q, _mm_movehl_ps(q, q));
  return _mm_cvtss_f32(_mm_add_ss(d, _mm_movehdup_ps(d)));
}
/// The largest lane.
inline float max16(F16 a) {
  const __m256 f = folded_max(a);
  const __m128 q = _mm_max_ps(_mm256_castps256_ps128(f), _mm256_extractf128_ps(f, 1));
  const __m128 d = _mm_max_ps(q, _mm_movehl_ps(q, q));
  return _mm_cvtss_f32(_mm_max_ss(d, _mm_movehdup_ps(d)));
}

#else

struct F8 {
  float v[8];
};
/// Lane i plus lane i + 8.
inline F8 fold(const F16& a) {
  F8 r;
  for (int i = 0; i < 8; ++i) r.v[i] = a.v[i] + a.v[i + 8];
  return r;
}
inline float sum8(F8 a) {
  for (int n = 4; n > 0; n /= 2) {
    for (int i = 0; i < n; ++i) a.v[i] += a.v[i + n];
  }
  return a.v[0];
}
/// out[i] = sum of the lanes of what v[i] was folded from: + 8, then + 4, + 2, + 1.
inline void sums8(const F8 (&v)[8], float* out) {
  for (int i = 0; i < 8; ++i) out[i] = sum8(v[i]);
}
/// The sum of the lanes, by the same tree.
inline float sum16(const F16& a) { return sum8(fold(a)); }
/// The largest lane.
inline float max16(F16 a) {
  for (int n = 8; n > 0; n /= 2) {
    for (int i = 0; i < n; ++i) a.v[i] = a.v[i] > a.v[i + n] ? a.v[i] : a.v[i + n];
  }
  return a.v[0];
}

#endif

/// out[i][j] = rows[j][at + i] for i < 8: eight numbers of sixteen rows, turned.
inline void transpose8(const float* const (&rows)[16], int64_t at, float* out) {
#if defined(__AVX2__)
  for (int half = 0; half < 16; half += 8) {
    __m256 r[8];
    for (int i = 0; i < 8; ++i) r[i] = _mm256_loadu_ps(rows[half + i] + at);
    __m256 pairs[8];
    for (int i = 0; i < 8; i += 2) {
      pairs[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
      pairs[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    __m256 quads[8];  // quads[c] and quads[c + 4]: columns c and c + 4 of rows 0-3, and of 4-7
    for (int i = 0; i < 8; i += 4) {
      quads[i] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0x44);
      quads[i + 1] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0xEE);
      quads[i + 2] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0x44);
      quads[i + 3] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0xEE);
    }
    for (int c = 0; c < 4; ++c) {
      _mm256_storeu_ps(out + c * 16 + half, _mm256_permute2f128_ps(quads[c], quads[c + 4], 0x20));
      _mm256_storeu_ps(out + (c + 4) * 16 + half,
                       _mm256_permute2f128_ps(quads[c], quads[c + 4], 0x31));
    }
  }
#else
  for (int j = 0; j < 16; ++j) {
    for (int i = 0; i < 8; ++i) out[i * 16 + j] = rows[j][at + i];
  }
#endif
}

/// The first n lanes from memory, zero in the others; and the first n lanes to memory.
inline F16 load_some(const float* p, int64_t n) {
  float lanes[16] = {};
  std::memcpy(lanes, p, static_cast<size_t>(n) * sizeof(float));
  return load16(lanes);
}
inline void store_some(float* p, F16 a, int64_t n) {
  float lanes[16];
  store16(lanes, a);
  std::memcpy(p, lanes, static_cast<size_t>(n) * sizeof(float));
}

/// e^x by 2^n e^f with |f| <= ln 2 / 2 and a polynomial of degree 6, below 2 ulp; 0 below -87. Not
/// a number stays so.
inline F16 exp16(F16 x) {
  const F16 round = all16(12582912.0F);  // adding it leaves the nearest integer in the low bits
  const F16 low = all16(-87.0F);
  const F16 c = min(all16(88.0F), max(low, x));
  const F16 n = sub(fma(c, all16(1.44269504088896341F), round), round);
  F16 f = fma(n, all16(-0.693359375F), c);
  f = fma(n, all16(2.12194440e-4F), f);
  F16 p = all16(1.0F / 720);
  p = fma(p, f, all16(1.0F / 120));
  p = fma(p, f, all16(1.0F / 24));
  p = fma(p, f, all16(1.0F / 6));
  p = fma(p, f, all16(0.5F));
  p = fma(p, f, all16(1.0F));
  p = fma(p, f, all16(1.0F));
  return zero_below(mul(p, power_of_two(n)), x, low);
}

}  // namespace
}  // namespace sluice
