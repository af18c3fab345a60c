#pragma once
#include "models/io/dequantize.h"

#include <cstring>

/// The kernels' one source, compiled by dequantize_{plain,avx2}.cc with their own flags: loops that
/// both compilers turn into vectors. Formats: docs/gguf.md and the block structs of ggml.
namespace sluice::internal {
namespace {

inline float half(const uint8_t* p) {
  uint16_t h;
  std::memcpy(&h, p, 2);
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16;
  const uint32_t body = h & 0x7fff;
  uint32_t bits;
  if (body >= 0x7c00) {
    bits = sign | 0x7f800000 | (body & 0x3ff) << 13;
  } else if (body >= 0x400) {
    bits = sign | ((body << 13) + (112U << 23));
  } else {
    // Subnormal: body * 2^-24, exact in float.
    const float value = static_cast<float>(body) * 5.9604644775390625e-8F;
    std::memcpy(&bits, &value, 4);
    bits |= sign;
  }
  float out;
  std::memcpy(&out, &bits, 4);
  return out;
}

inline uint32_t word(const uint8_t* p) {
  uint32_t out;
  std::memcpy(&out, p, 4);
  return out;
}

/// out = v * d, and out = v * d + m: the formats differ in how they make 8-bit v.
template <int N>
inline void scaled(const int8_t* v, float d, float* out) {
  for (int j = 0; j < N; ++j) out[j] = static_cast<float>(v[j]) * d;
}
template <int N>
inline void scaled(const int8_t* v, float d, float m, float* out) {
  for (int j = 0; j < N; ++j) out[j] = static_cast<float>(v[j]) * d + m;
}

/// The low nibbles of 16 bytes, then the high ones, plus `shift`.
inline void nibbles(const uint8_t* q, int8_t shift, int8_t* v) {
  for (int j = 0; j < 16; ++j) v[j] = static_cast<int8_t>((q[j] & 15) + shift);
  for (int j = 0; j < 16; ++j) v[j + 16] = static_cast<int8_t>((q[j] >> 4) + shift);
}

/// Adds 16 to v[j] where bit j of h is set.
inline void fifth_bits(uint32_t h, int8_t* v) {
  for (int j = 0; j < 32; ++j) v[j] = static_cast<int8_t>(v[j] + ((h >> j & 1U) << 4));
}

inline void q4_0(const uint8_t* in, int64_t blocks, float* out) {
  int8_t v[32];
  for (int64_t b = 0; b < blocks; ++b, in += 18, out += 32) {
    nibbles(in + 2, -8, v);
    scaled<32>(v, half(in), out);
  }
}

inline void q4_1(const uint8_t* in, int64_t blocks, float* out) {
  int8_t v[32];
  for (int64_t b = 0; b < blocks; ++b, in += 20, out += 32) {
    nibbles(in + 4, 0, v);
    scaled<32>(v, half(in), half(in + 2), out);
  }
}

inline void q5_0(const uint8_t* in, int64_t blocks, float* out) {
  int8_t v[32];
  for (int64_t b = 0; b < blocks; ++b, in += 22, out += 32) {
    nibbles(in + 6, -16, v);
    fifth_bits(word(in + 2), v);
    scaled<32>(v, half(in), out);
  }
}

inline void q5_1(const uint8_t* in, int64_t blocks, float* out) {
  int8_t v[32];
  for (int64_t b = 0; b < blocks; ++b, in += 24, out += 32) {
    nibbles(in + 8, 0, v);
    fifth_bits(word(in + 4), v);
    scaled<32>(v, half(in), half(in + 2), out);
  }
}

inline void q8_0(const uint8_t* in, int64_t blocks, float* out) {
  for (int64_t b = 0; b < blocks; ++b, in += 34, out += 32) {
    scaled<32>(reinterpret_cast<const int8_t*>(in + 2), half(in), out);
  }
}

/// Scale and minimum j of the eight that 12 bytes pack with six bits each.
inline void scale_and_min(const uint8_t* s, int j, float& scale, float& least) {
  if (j < 4) {
    scale = static_cast<float>(s[j] & 63);
    least = static_cast<float>(s[j + 4] & 63);
  } else {
    scale = static_cast<float>((s[j + 4] & 15) | (s[j - 4] >> 6) << 4);
    least = static_cast<float>((s[j + 4] >> 4) | (s[j] >> 6) << 4);
  }
}

/// Q4_K without, Q5_K with a fifth bit; 32 values have a scale and a minimum of their own.
template <bool kFifth>
inline void q45_k(const uint8_t* in, int64_t blocks, float* out) {
  int8_t v[64];
  for (int64_t b = 0; b < blocks; ++b, in += kFifth ? 176 : 144) {
    const float d = half(in);
    const float dmin = half(in + 2);
    const uint8_t* q = in + (kFifth ? 48 : 16);
    for (int j = 0; j < 8; j += 2, q += 32, out += 64) {
      for (int l = 0; l < 32; ++l) v[l] = static_cast<int8_t>(q[l] & 15);
      for (int l = 0; l < 32; ++l) v[l + 32] = static_cast<int8_t>(q[l] >> 4);
      if (kFifth) {
        const auto low = static_cast<uint8_t>(1U << j);
        const auto high = static_cast<uint8_t>(2U << j);
        for (int l = 0; l < 32; ++l) v[l] = static_cast<int8_t>(v[l] + (in[16 + l] & low ? 16 : 0));
        for (int l = 0; l < 32; ++l) {
          v[l + 32] = static_cast<int8_t>(v[l + 32] + (in[16 + l] & high ? 16 : 0));
        }
      }
      for (int part = 0; part < 2; ++part) {
        float scale, least;
        scale_and_min(in + 4, j + part, scale, least);
        // a - b and a + (-b) are the same number.
        scaled<32>(v + 32 * part, d * scale, -(dmin * least), out + 32 * part);
      }
    }
  }
}

/// A quarter of half a Q6_K block: 32 values of four low and two high bits, two scales.
template <int kPart>
inline void q6_quarter(const uint8_t* low, const uint8_t* high, const int8_t* scales, float d,
                       float* out) {
  int8_t v[32];
  const uint8_t* q = low + (kPart & 1) * 32;
  for (int l = 0; l < 32; ++l) {
    const int nibble = kPart >= 2 ? q[l] >> 4 : q[l] & 15;
    v[l] = static_cast<int8_t>((nibble | (high[l] >> (2 * kPart) & 3) << 4) - 32);
  }
  for (int s = 0; s < 2; ++s) {
    scaled<16>(v + 16 * s, d * static_cast<float>(scales[kPart * 2 + s]),
               out + kPart * 32 + 16 * s);
  }
}

inline void q6_k(const uint8_t* in, int64_t blocks, float* out) {
  for (int64_t b = 0; b < blocks; ++b, in += 210) {
    const float d = half(in + 208);
    const uint8_t* low = in;
    const uint8_t* high = in + 128;
    const auto* scales = reinterpret_cast<const int8_t*>(in + 192);
    for (int n = 0; n < 2; ++n, low += 64, high += 32, scales += 8, out += 128) {
      q6_quarter<0>(low, high, scales, d, out);
      q6_quarter<1>(low, high, scales, d, out);
      q6_quarter<2>(low, high, scales, d, out);
      q6_quarter<3>(low, high, scales, d, out);
    }
  }
}

inline Dequantize kernel(StoredType type) {
  switch (type) {
    case StoredType::Q4_0:
      return q4_0;
    case StoredType::Q4_1:
      return q4_1;
    case StoredType::Q5_0:
      return q5_0;
    case StoredType::Q5_1:
      return q5_1;
    case StoredType::Q8_0:
      return q8_0;
    case StoredType::Q4K:
      return q45_k<false>;
    case StoredType::Q5K:
      return q45_k<true>;
    case StoredType::Q6K:
      return q6_k;
    default:
      return nullptr;
  }
}

}  // namespace
}  // namespace sluice::internal
