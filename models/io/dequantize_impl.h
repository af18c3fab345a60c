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

inline void q4_0(const uint8_t* in, int64_t blocks, float* out) {
  for (int64_t b = 0; b < blocks; ++b, in += 18, out += 32) {
    const float d = half(in);
    const uint8_t* q = in + 2;
    for (int j = 0; j < 16; ++j) out[j] = static_cast<float>((q[j] & 15) - 8) * d;
    for (int j = 0; j < 16; ++j) out[j + 16] = static_cast<float>((q[j] >> 4) - 8) * d;
  }
}

inline void q4_1(const uint8_t* in, int64_t blocks, float* out) {
  for (int64_t b = 0; b < blocks; ++b, in += 20, out += 32) {
    const float d = half(in);
    const float m = half(in + 2);
    const uint8_t* q = in + 4;
    for (int j = 0; j < 16; ++j) out[j] = static_cast<float>(q[j] & 15) * d + m;
    for (int j = 0; j < 16; ++j) out[j + 16] = static_cast<float>(q[j] >> 4) * d + m;
  }
}

inline void q5_0(const uint8_t* in, int64_t blocks, float* out) {
  for (int64_t b = 0; b < blocks; ++b, in += 22, out += 32) {
    const float d = half(in);
    const uint32_t h = word(in + 2);
    const uint8_t* q = in + 6;
    for (int j = 0; j < 16; ++j) {
      const int high = static_cast<int>(h >> j & 1U) << 4;
      out[j] = static_cast<float>(((q[j] & 15) | high) - 16) * d;
    }
    for (int j = 0; j < 16; ++j) {
      const int high = static_cast<int>(h >> (j + 16) & 1U) << 4;
      out[j + 16] = static_cast<float>(((q[j] >> 4) | high) - 16) * d;
    }
  }
}

inline void q5_1(const uint8_t* in, int64_t blocks, float* out) {
  for (int64_t b = 0; b < blocks; ++b, in += 24, out += 32) {
    const float d = half(in);
    const float m = half(in + 2);
    const uint32_t h = word(in + 4);
    const uint8_t* q = in + 8;
    for (int j = 0; j < 16; ++j) {
      const int high = static_cast<int>(h >> j & 1U) << 4;
      out[j] = static_cast<float>((q[j] & 15) | high) * d + m;
    }
    for (int j = 0; j < 16; ++j) {
      const int high = static_cast<int>(h >> (j + 16) & 1U) << 4;
      out[j + 16] = static_cast<float>((q[j] >> 4) | high) * d + m;
    }
  }
}

inline void q8_0(const uint8_t* in, int64_t blocks, float* out) {
  for (int64_t b = 0; b < blocks; ++b, in += 34, out += 32) {
    const float d = half(in);
    for (int j = 0; j < 32; ++j) {
      out[j] = static_cast<float>(static_cast<int8_t>(in[2 + j])) * d;
    }
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

inline void q4_k(const uint8_t* in, int64_t blocks, float* out) {
  for (int64_t b = 0; b < blocks; ++b, in += 144) {
    const float d = half(in);
    const float dmin = half(in + 2);
    const uint8_t* scales = in + 4;
    const uint8_t* q = in + 16;
    for (int j = 0; j < 8; j += 2, q += 32, out += 64) {
      float s1, m1, s2, m2;
      scale_and_min(scales, j, s1, m1);
      scale_and_min(scales, j + 1, s2, m2);
      const float d1 = d * s1, d2 = d * s2;
      const float o1 = dmin * m1, o2 = dmin * m2;
      for (int l = 0; l < 32; ++l) out[l] = d1 * static_cast<float>(q[l] & 15) - o1;
      for (int l = 0; l < 32; ++l) out[l + 32] = d2 * static_cast<float>(q[l] >> 4) - o2;
    }
  }
}

inline void q5_k(const uint8_t* in, int64_t blocks, float* out) {
  for (int64_t b = 0; b < blocks; ++b, in += 176) {
    const float d = half(in);
    const float dmin = half(in + 2);
    const uint8_t* scales = in + 4;
    const uint8_t* high = in + 16;
    const uint8_t* q = in + 48;
    for (int j = 0; j < 8; j += 2, q += 32, out += 64) {
      float s1, m1, s2, m2;
      scale_and_min(scales, j, s1, m1);
      scale_and_min(scales, j + 1, s2, m2);
      const float d1 = d * s1, d2 = d * s2;
      const float o1 = dmin * m1, o2 = dmin * m2;
      for (int l = 0; l < 32; ++l) {
        out[l] = d1 * static_cast<float>((q[l] & 15) + ((high[l] >> j & 1) << 4)) - o1;
      }
      for (int l = 0; l < 32; ++l) {
        out[l + 32] = d2 * static_cast<float>((q[l] >> 4) + ((high[l] >> (j + 1) & 1) << 4)) - o2;
      }
    }
  }
}

inline void q6_k(const uint8_t* in, int64_t blocks, float* out) {
  for (int64_t b = 0; b < blocks; ++b, in += 210) {
    const float d = half(in + 208);
    const uint8_t* low = in;
    const uint8_t* high = in + 128;
    const auto* scales = reinterpret_cast<const int8_t*>(in + 192);
    for (int n = 0; n < 2; ++n, low += 64, high += 32, scales += 8, out += 128) {
      for (int part = 0; part < 4; ++part) {
        const uint8_t* q = low + (part & 1) * 32;
        const int nibble = part >= 2 ? 4 : 0;
        for (int s = 0; s < 2; ++s) {
          const float scale = d * static_cast<float>(scales[part * 2 + s]);
          float* to = out + part * 32 + s * 16;
          for (int l = 0; l < 16; ++l) {
            const int i = s * 16 + l;
            const int value = (q[i] >> nibble & 15) | (high[i] >> (2 * part) & 3) << 4;
            to[l] = scale * static_cast<float>(value - 32);
          }
        }
      }
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
      return q4_k;
    case StoredType::Q5K:
      return q5_k;
    case StoredType::Q6K:
      return q6_k;
    default:
      return nullptr;
  }
}

}  // namespace
}  // namespace sluice::internal
