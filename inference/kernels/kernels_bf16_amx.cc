// Compiled with AMX: runs only where the CPU has it and the process may use it (see
// bf16_kernels()).
#if defined(__x86_64__)
#include "inference/kernels/bf16_tile_impl.h"

#include <immintrin.h>

namespace sluice {
namespace {

/// Eight registers of 16 rows of 64 bytes: results in 0 to 3, inputs in 4 and 5, weights in 6
/// and 7. The instructions take the numbers as literals.
class AmxTiles {
 public:
  AmxTiles() {
    Config config;
    for (int i = 0; i < 8; ++i) {
      config.row_bytes[i] = 64;
      config.rows[i] = 16;
    }
    written(&config);
    _tile_loadconfig(&config);
  }
  ~AmxTiles() { _tile_release(); }
  AmxTiles(const AmxTiles&) = delete;
  AmxTiles& operator=(const AmxTiles&) = delete;

  void clear() {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  template <int I>
  void load_inputs(const uint16_t* x, int64_t stride) {
    written(x);
    const int64_t bytes = stride * static_cast<int64_t>(sizeof(uint16_t));
    if constexpr (I == 0) _tile_loadd(4, x, bytes);
    if constexpr (I == 1) _tile_loadd(5, x, bytes);
  }
  template <int P>
  void load_weights(const uint16_t* w) {
    written(w);
    if constexpr (P == 0) _tile_loadd(6, w, 64);
    if constexpr (P == 1) _tile_loadd(7, w, 64);
  }
  template <int I, int P>
  void multiply() {
    if constexpr (I == 0 && P == 0) _tile_dpbf16ps(0, 4, 6);
    if constexpr (I == 0 && P == 1) _tile_dpbf16ps(1, 4, 7);
    if constexpr (I == 1 && P == 0) _tile_dpbf16ps(2, 5, 6);
    if constexpr (I == 1 && P == 1) _tile_dpbf16ps(3, 5, 7);
  }
  template <int I, int P>
  void store(float* out) const {
    if constexpr (I == 0 && P == 0) _tile_stored(0, out, 64);
    if constexpr (I == 0 && P == 1) _tile_stored(1, out, 64);
    if constexpr (I == 1 && P == 0) _tile_stored(2, out, 64);
    if constexpr (I == 1 && P == 1) _tile_stored(3, out, 64);
  }

 private:
  /// g++'s intrinsics do not say that they read what lies there: its stores must not wait.
  static void written(const void* p) { __asm__ volatile("" : : "r"(p) : "memory"); }

  struct alignas(64) Config {
    uint8_t palette = 1;
    uint8_t start_row = 0;
    uint8_t reserved[14] = {};
    uint16_t row_bytes[16] = {};
    uint8_t rows[16] = {};
  };
  static_assert(sizeof(Config) == 64);
};

}  // namespace

namespace internal {
const Bf16Kernels kBf16TileAmx = {multiply_by_tiles<AmxTiles>};
}  // namespace internal
}  // namespace sluice
#endif
