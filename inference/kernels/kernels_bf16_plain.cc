#include "inference/kernels/bf16_tile_impl.h"
#include "inference/kernels/bf16_vector_impl.h"
#include "inference/kernels/rounding.h"

namespace sluice {
namespace {

/// What AMX's tile registers do, in memory.
class PlainTiles {
 public:
  void clear() { std::memset(results_, 0, sizeof results_); }
  template <int I>
  void load_inputs(const uint16_t* x, int64_t stride) {
    for (int64_t r = 0; r < kTileRows; ++r) {
      std::copy(x + r * stride, x + r * stride + kTileInputs, inputs_[I][r]);
    }
  }
  template <int P>
  void load_weights(const uint16_t* w) {
    std::copy(w, w + kTileSize, weights_[P]);
  }
  template <int I, int P>
  void multiply() {
    for (int64_t r = 0; r < kTileRows; ++r) {
      for (int64_t j = 0; j < kPanel; ++j) {
        float& sum = results_[I][P][r * kPanel + j];
        for (int64_t k = 0; k < kTileInputs; ++k) {
          const uint16_t weight = weights_[P][(k / 2 * kPanel + j) * 2 + k % 2];
          sum += float_of_bf16(inputs_[I][r][k]) * float_of_bf16(weight);
        }
      }
    }
  }
  template <int I, int P>
  void store(float* out) const {
    std::copy(results_[I][P], results_[I][P] + kTileRows * kPanel, out);
  }

 private:
  float results_[2][2][kTileRows * kPanel];
  uint16_t inputs_[2][kTileRows][kTileInputs];
  uint16_t weights_[2][kTileSize];
};

}  // namespace

namespace internal {
const Bf16Kernels kBf16VectorPlain = kBf16VectorTable;
const Bf16Kernels kBf16TilePlain = {multiply_by_tiles<PlainTiles>};
}  // namespace internal

void round_to_bf16(const float* x, int64_t ldx, int64_t rows, int64_t in, uint16_t* out) {
  const int64_t stride = Bf16Rows::stride(in);
  for (int64_t r = 0; r < rows; ++r, x += ldx, out += stride) {
    for (int64_t k = 0; k < in; ++k) out[k] = bf16_of(x[k]);
    std::fill(out + in, out + stride, uint16_t{0});
  }
}

const Bf16Kernels& bf16_kernels(Bf16Unit unit) noexcept {
#if defined(__x86_64__)
  if (unit == Bf16Unit::Amx) return internal::kBf16TileAmx;
  if (unit == Bf16Unit::Avx512) return internal::kBf16VectorAvx512;
#endif
  static_cast<void>(unit);
  return internal::kBf16VectorPlain;
}

}  // namespace sluice
