#pragma once
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace sluice {

/// Stands for infinity where 0 * inf must be 0: e^-kLargest is 0 in every floating type.
inline constexpr double kLargest = 1e30;

/// "[3, 5]"
[[nodiscard]] std::string shape_text(const at::Tensor& tensor);
/// What log-probs are computed in: fp64 when one of the two is, else fp32.
[[nodiscard]] at::ScalarType compute_type(const at::Tensor& hidden, const at::Tensor& weight);

/// cap(h W^T + b) / T by tiles of at most `tile` logits, each in one buffer that is used again.
struct LogitsSource {
  at::Tensor hidden;  ///< [N, D]
  at::Tensor weight;  ///< [V, D]
  at::Tensor bias;    ///< [V] or undefined
  double softcap = 0;
  double temperature = 1;
  int64_t tile = 0;
  bool buffered = true;  ///< one buffer serves all tiles; false: each has its own memory
};

class LogitsTiles {
 public:
  explicit LogitsTiles(LogitsSource source);

  [[nodiscard]] const LogitsSource& source() const noexcept { return source_; }
  [[nodiscard]] at::ScalarType dtype() const noexcept { return dtype_; }
  /// h scaled so that one product gives what the softmax (or the softcap's tanh) takes; [N, D].
  [[nodiscard]] const at::Tensor& scaled_hidden() const noexcept { return scaled_hidden_; }
  [[nodiscard]] double scale() const noexcept { return scale_; }

  /// f(first, count) over the blocks of rows, and over those of columns.
  template <class F>
  void for_each_rows(const F& f) const {
    for_each(source_.hidden.size(0), rows_, f);
  }
  template <class F>
  void for_each_cols(const F& f) const {
    for_each(source_.weight.size(0), cols_, f);
  }

  /// The tile [count, cols] at (row, col), overwritten by the next call if buffered.
  [[nodiscard]] at::Tensor logits(int64_t row, int64_t count, int64_t col, int64_t cols) const;
  /// d logit / d (h W^T + b), up to the factor scale(), of a tile just made; undefined when there
  /// is no softcap.
  [[nodiscard]] at::Tensor softcap_slope(const at::Tensor& tile) const;
  /// Rows [col, col + cols) of the weight in dtype().
  [[nodiscard]] at::Tensor weight(int64_t col, int64_t cols) const;

 private:
  template <class F>
  static void for_each(int64_t total, int64_t step, const F& f) {
    for (int64_t i = 0; i < total; i += step) f(i, std::min(step, total - i));
  }

  LogitsSource source_;
  at::ScalarType dtype_;
  double scale_;
  at::Tensor scaled_hidden_;
  at::Tensor buffer_;
  int64_t rows_;
  int64_t cols_;
};

/// The gradients of hidden, weight and bias, summed over tiles of d/d logits.
class LogitsGradient {
 public:
  /// `weight_sink`, when defined, is what the weight's gradient is added to; weight() is undefined
  /// then.
  LogitsGradient(const LogitsTiles& tiles, bool hidden, bool weight, bool bias,
                 const at::Tensor& weight_sink = {});

  void add(const at::Tensor& tile, int64_t row, int64_t count, int64_t col, int64_t cols);

  /// In the dtype of the inputs; undefined when not asked for.
  [[nodiscard]] at::Tensor hidden() const;
  [[nodiscard]] at::Tensor weight() const;
  [[nodiscard]] at::Tensor bias() const;

 private:
  const LogitsTiles& tiles_;
  at::Tensor hidden_;
  at::Tensor weight_;
  at::Tensor bias_;
  bool owns_weight_ = true;
};

}  // namespace sluice
