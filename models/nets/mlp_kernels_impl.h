#pragma once
#include "dataflow/base/simd.h"
#include "models/nets/mlp_kernels.h"

/// The kernels' one source, instantiated by mlp_kernels_{plain,avx2,avx512}.cc. A tile of kRows x
/// kVectors registers is summed over k with one multiply-add chain per element.
namespace sluice::internal {

template <class S>
struct MlpTiles {
  using V = typename S::V;
  static constexpr int64_t W = S::kWidth;

  template <int R, int N>
  static inline __attribute__((always_inline)) void clear(V (&acc)[R][N]) {
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < N; ++v) acc[r][v] = S::set(0.0F);
    }
  }

  /// acc[r][v] += sum over k of a(r, k) * b(k, v); a(r, k) = a[r * row + k * step].
  template <int R, int N>
  static inline __attribute__((always_inline)) void multiply(const float* a, int64_t row,
                                                             int64_t step, const float* b,
                                                             int64_t ldb, int64_t k,
                                                             V (&acc)[R][N]) {
    for (int64_t i = 0; i < k; ++i) {
      V right[N];
      for (int v = 0; v < N; ++v) right[v] = S::load(b + v * W);
      for (int r = 0; r < R; ++r) {
        const V left = S::set(a[r * row]);
        for (int v = 0; v < N; ++v) acc[r][v] = S::fma(left, right[v], acc[r][v]);
      }
      a += step;
      b += ldb;
    }
  }

  template <int R, int N, Epilogue E>
  static void forward_tile(const float* x, int64_t ldx, int64_t k, const float* w,
                           const float* bias, float* y, int64_t ldy) {
    V acc[R][N];
    for (int v = 0; v < N; ++v) {
      const V b = S::load(bias + v * W);
      for (int r = 0; r < R; ++r) acc[r][v] = b;
    }
    multiply<R, N>(x, ldx, 1, w, N * W, k, acc);
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < N; ++v) {
        if constexpr (E == Epilogue::Tanh) acc[r][v] = simd::tanh<S>(acc[r][v]);
        if constexpr (E == Epilogue::Relu) acc[r][v] = S::max(acc[r][v], S::set(0.0F));
        S::store(y + r * ldy + v * W, acc[r][v]);
      }
    }
  }

  template <int R, int N, Epilogue E>
  static void backward_tile(const float* dy, int64_t lddy, int64_t k, const float* w,
                            const float* h, int64_t ldh, float* dx, int64_t lddx) {
    V acc[R][N];
    clear(acc);
    multiply<R, N>(dy, lddy, 1, w, N * W, k, acc);
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < N; ++v) {
        const V out = S::load(h + r * ldh + v * W);
        V d = acc[r][v];
        if constexpr (E == Epilogue::Tanh) d = S::mul(d, S::fnma(out, out, S::set(1.0F)));
        if constexpr (E == Epilogue::Relu)
          d = S::select(S::less(S::set(0.0F), out), d, S::set(0.0F));
        S::store(dx + r * lddx + v * W, d);
      }
    }
  }

  template <int R, int N>
  static void accumulate_tile(const float* a, int64_t lda, const float* b, int64_t ldb,
                              int64_t rows, float* c, int64_t ldc) {
    V acc[R][N];
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < N; ++v) acc[r][v] = S::load(c + r * ldc + v * W);
    }
    multiply<R, N>(a, 1, lda, b, ldb, rows, acc);
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < N; ++v) S::store(c + r * ldc + v * W, acc[r][v]);
    }
  }

  /// Calls tile<R>(first row) down `rows` rows in steps of kMost, the rest in one smaller tile.
  template <int kMost, class F>
  static inline __attribute__((always_inline)) void over_rows(int64_t rows, const F& tile) {
    int64_t r = 0;
    for (; r + kMost <= rows; r += kMost) tile.template operator()<kMost>(r);
    rest<kMost - 1>(rows - r, r, tile);
  }
  template <int kRows, class F>
  static inline void rest(int64_t rows, int64_t first, const F& tile) {
    if constexpr (kRows > 0) {
      if (rows == kRows) {
        tile.template operator()<kRows>(first);
      } else {
        rest<kRows - 1>(rows, first, tile);
      }
    }
  }

  template <Epilogue E>
  static void forward_as(const float* x, int64_t ldx, int64_t rows, int64_t k, const float* w,
                         const float* bias, int64_t n, float* y, int64_t ldy) {
    int64_t j = 0;
    for (; j + 2 * W <= n; j += 2 * W) {
      over_rows<6>(rows, [&]<int R>(int64_t r) {
        forward_tile<R, 2, E>(x + r * ldx, ldx, k, w + j * k, bias + j, y + r * ldy + j, ldy);
      });
    }
    if (j < n) {
      over_rows<12>(rows, [&]<int R>(int64_t r) {
        forward_tile<R, 1, E>(x + r * ldx, ldx, k, w + j * k, bias + j, y + r * ldy + j, ldy);
      });
    }
  }

  static void forward(const float* x, int64_t ldx, int64_t rows, int64_t k, const float* w,
                      const float* bias, int64_t n, Epilogue e, float* y, int64_t ldy) {
    if (e == Epilogue::Tanh) return forward_as<Epilogue::Tanh>(x, ldx, rows, k, w, bias, n, y, ldy);
    if (e == Epilogue::Relu) return forward_as<Epilogue::Relu>(x, ldx, rows, k, w, bias, n, y, ldy);
    forward_as<Epilogue::None>(x, ldx, rows, k, w, bias, n, y, ldy);
  }

  template <int O, int R>
  static void dots_tile(const float* x, int64_t ldx, const float* w, const float* bias, int64_t n,
                        float* y, int64_t ldy) {
    V acc[R][O];
    clear(acc);
    for (int64_t j = 0; j < n; j += W) {
      V right[O];
      for (int o = 0; o < O; ++o) right[o] = S::load(w + o * n + j);
      for (int r = 0; r < R; ++r) {
        const V left = S::load(x + r * ldx + j);
        for (int o = 0; o < O; ++o) acc[r][o] = S::fma(left, right[o], acc[r][o]);
      }
    }
    for (int r = 0; r < R; ++r) {
      for (int o = 0; o < O; ++o) y[r * ldy + o] = S::sum(acc[r][o]) + bias[o];
    }
  }

  template <int O>
  static void dots_of(const float* x, int64_t ldx, int64_t rows, const float* w, const float* bias,
                      int64_t n, float* y, int64_t ldy) {
    constexpr int kRows = O == 1 ? 8 : O == 2 ? 4 : 2;  // eight sums or so under way at once
    int64_t r = 0;
    for (; r + kRows <= rows; r += kRows) {
      dots_tile<O, kRows>(x + r * ldx, ldx, w, bias, n, y + r * ldy, ldy);
    }
    for (; r < rows; ++r) dots_tile<O, 1>(x + r * ldx, ldx, w, bias, n, y + r * ldy, ldy);
  }

  static void dots(const float* x, int64_t ldx, int64_t rows, const float* w, const float* bias,
                   int64_t outputs, int64_t n, float* y, int64_t ldy) {
    if (outputs == 1) return dots_of<1>(x, ldx, rows, w, bias, n, y, ldy);
    if (outputs == 2) return dots_of<2>(x, ldx, rows, w, bias, n, y, ldy);
    if (outputs == 3) return dots_of<3>(x, ldx, rows, w, bias, n, y, ldy);
    dots_of<4>(x, ldx, rows, w, bias, n, y, ldy);
  }

  template <Epilogue E>
  static void backward_as(const float* dy, int64_t lddy, int64_t rows, int64_t k, const float* w,
                          const float* h, int64_t ldh, int64_t n, float* dx, int64_t lddx) {
    int64_t j = 0;
    for (; j + 2 * W <= n; j += 2 * W) {
      over_rows<6>(rows, [&]<int R>(int64_t r) {
        backward_tile<R, 2, E>(dy + r * lddy, lddy, k, w + j * k, h + r * ldh + j, ldh,
                               dx + r * lddx + j, lddx);
      });
    }
    if (j < n) {
      over_rows<12>(rows, [&]<int R>(int64_t r) {
        backward_tile<R, 1, E>(dy + r * lddy, lddy, k, w + j * k, h + r * ldh + j, ldh,
                               dx + r * lddx + j, lddx);
      });
    }
  }

  static void backward(const float* dy, int64_t lddy, int64_t rows, int64_t k, const float* w,
                       const float* h, int64_t ldh, int64_t n, Epilogue e, float* dx,
                       int64_t lddx) {
    if (e == Epilogue::Relu) {
      return backward_as<Epilogue::Relu>(dy, lddy, rows, k, w, h, ldh, n, dx, lddx);
    }
    backward_as<Epilogue::Tanh>(dy, lddy, rows, k, w, h, ldh, n, dx, lddx);
  }

  static void accumulate(const float* a, int64_t lda, int64_t m, const float* b, int64_t ldb,
                         int64_t n, int64_t rows, float* c, int64_t ldc) {
    // A result with few rows is made in wide tiles: enough sums must be under way to hide the
    // latency of one multiply-add, and each load of b should feed all of them.
    int64_t j = 0;
    if (m == 1) {
      for (; j + 8 * W <= n; j += 8 * W)
        accumulate_tile<1, 8>(a, lda, b + j, ldb, rows, c + j, ldc);
    }
    if (m == 1) {
      for (; j + 4 * W <= n; j += 4 * W)
        accumulate_tile<1, 4>(a, lda, b + j, ldb, rows, c + j, ldc);
    }
    if (m == 2) {
      for (; j + 4 * W <= n; j += 4 * W)
        accumulate_tile<2, 4>(a, lda, b + j, ldb, rows, c + j, ldc);
    }
    for (; j + 2 * W <= n; j += 2 * W) {
      over_rows<6>(m, [&]<int R>(int64_t r) {
        accumulate_tile<R, 2>(a + r, lda, b + j, ldb, rows, c + r * ldc + j, ldc);
      });
    }
    if (j < n) {
      over_rows<12>(m, [&]<int R>(int64_t r) {
        accumulate_tile<R, 1>(a + r, lda, b + j, ldb, rows, c + r * ldc + j, ldc);
      });
    }
  }

  static void column_sums(const float* b, int64_t ldb, int64_t n, int64_t rows, float* c) {
    for (int64_t j = 0; j < n; j += W) {
      V sum[4] = {S::load(c + j), S::set(0.0F), S::set(0.0F), S::set(0.0F)};
      int64_t r = 0;
      for (; r + 4 <= rows; r += 4) {
        for (int i = 0; i < 4; ++i) sum[i] = S::add(sum[i], S::load(b + (r + i) * ldb + j));
      }
      for (; r < rows; ++r) sum[0] = S::add(sum[0], S::load(b + r * ldb + j));
      S::store(c + j, S::add(S::add(sum[0], sum[1]), S::add(sum[2], sum[3])));
    }
  }

  template <int64_t kColumns>
  static float* pack_panel(const float* src, int64_t row_stride, int64_t column_stride, int64_t k,
                           int64_t columns, float* dst) {
    for (int64_t i = 0; i < k; ++i, src += row_stride, dst += kColumns) {
      if (columns >= kColumns && column_stride == 1) {
        for (int64_t v = 0; v < kColumns; v += W) S::store(dst + v, S::load(src + v));
      } else if (columns >= kColumns) {
        for (int64_t v = 0; v < kColumns; v += W) {
          S::store(dst + v, S::load(src + v * column_stride, column_stride));
        }
      } else {
        for (int64_t v = 0; v < kColumns; ++v) dst[v] = v < columns ? src[v * column_stride] : 0.0F;
      }
    }
    return dst;
  }

  static void pack(const float* src, int64_t row_stride, int64_t column_stride, int64_t k,
                   int64_t columns, int64_t n, float* dst) {
    int64_t j = 0;
    for (; j + 2 * W <= n; j += 2 * W) {
      dst = pack_panel<2 * W>(src + j * column_stride, row_stride, column_stride, k, columns - j,
                              dst);
    }
    if (j < n)
      pack_panel<W>(src + j * column_stride, row_stride, column_stride, k, columns - j, dst);
  }

  static constexpr MlpKernels table() {
    return {W, &forward, &dots, &backward, &accumulate, &column_sums, &pack};
  }
};

}  // namespace sluice::internal
