#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>

namespace sluice {

/// How the losses l_{i,t} of token t of sequence i become one number. Sums run over the tokens that
/// count, N over the sequences that have such a token, in all micro-batches of the update.
enum class Aggregation : uint8_t {
  TokenMean,               ///< sum l / tokens; DAPO, arXiv 2503.14476 eq. 8
  SequenceMeanTokenMean,   ///< mean_i (sum_t l / L_i); GRPO, arXiv 2402.03300 eq. 3
  SequenceMeanTokenSum,    ///< mean_i sum_t l
  SequenceMeanTokenScale,  ///< sum l / (N max_length), max_length a constant; Dr.GRPO, 2503.20783
};

/// What one update divides by, counted over all its micro-batches (and ranks) before the first
/// loss is computed. This is what makes the loss the same for every way of cutting the batch.
struct Denominator {
  int64_t tokens = 0;      ///< that count
  int64_t sequences = 0;   ///< with at least one such token
  int64_t max_length = 0;  ///< tokens; read by SequenceMeanTokenScale only

  /// Takes in another micro-batch: counts add, max_length is the larger one.
  void add(const Denominator& other) noexcept;
  /// The one number that a sum is divided by; at least 1, so an update of nothing has loss 0.
  [[nodiscard]] double divisor(Aggregation aggregation) const;
};

/// Tokens and sequences that count: `mask` bool [T] (undefined: all), `sequence` int64 [T], the
/// index of each token's sequence, equal ones adjacent.
[[nodiscard]] Denominator count_tokens(const at::Tensor& mask, const at::Tensor& sequence,
                                       int64_t max_length = 0);

/// The tokens of a micro-batch that count. Everything a loss reads goes through select() first, so
/// what masked rows hold (padding, -inf, NaN) has no way into the loss or its gradient.
class TokenRows {
 public:
  /// `mask` bool [T], or undefined when all count; `sequence` int64 [T], equal ones adjacent.
  TokenRows(const at::Tensor& mask, const at::Tensor& sequence);

  [[nodiscard]] int64_t tokens() const noexcept { return tokens_; }        ///< n
  [[nodiscard]] int64_t sequences() const noexcept { return sequences_; }  ///< S, none is empty

  /// [T] -> [n], with gradient; undefined stays undefined.
  [[nodiscard]] at::Tensor select(const at::Tensor& values) const;
  /// [n] -> [S]: sums over each sequence, with gradient.
  [[nodiscard]] at::Tensor sum(const at::Tensor& selected) const;
  /// [n] -> [S]: means over each sequence.
  [[nodiscard]] at::Tensor mean(const at::Tensor& selected) const;
  /// [S] -> [n]: each token gets its sequence's value.
  [[nodiscard]] at::Tensor spread(const at::Tensor& per_sequence) const;
  /// [n] -> scalar: this micro-batch's part of the update's loss, divided once.
  [[nodiscard]] at::Tensor reduce(const at::Tensor& selected, Aggregation aggregation,
                                  const Denominator& denominator) const;

 private:
  int64_t tokens_ = 0;
  int64_t sequences_ = 0;
  at::Tensor rows_;    ///< int64 [n]; undefined when all count
  at::Tensor slot_;    ///< int64 [n], 0..S-1
  at::Tensor length_;  ///< int64 [S]
};

/// reduce() over the rows of `values` [T] that `mask` selects.
[[nodiscard]] at::Tensor aggregate(const at::Tensor& values, const at::Tensor& mask,
                                   const at::Tensor& sequence, Aggregation aggregation,
                                   const Denominator& denominator);

}  // namespace sluice
