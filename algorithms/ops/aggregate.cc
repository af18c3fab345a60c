#include "algorithms/ops/aggregate.h"

#include "dataflow/base/result.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace sluice {

void Denominator::add(const Denominator& other) noexcept {
  tokens += other.tokens;
  sequences += other.sequences;
  max_length = std::max(max_length, other.max_length);
}

double Denominator::divisor(Aggregation aggregation) const {
  int64_t count = sequences;
  if (aggregation == Aggregation::TokenMean) count = tokens;
  if (aggregation == Aggregation::SequenceMeanTokenScale) {
    SLUICE_CHECK(max_length > 0) << "this aggregation divides by a constant length; it is not set";
    count = sequences * max_length;
  }
  return static_cast<double>(std::max<int64_t>(count, 1));
}

Denominator count_tokens(const at::Tensor& mask, const at::Tensor& sequence, int64_t max_length) {
  const TokenRows rows(mask, sequence);
  return {rows.tokens(), rows.sequences(), max_length};
}

TokenRows::TokenRows(const at::Tensor& mask, const at::Tensor& sequence) {
  SLUICE_CHECK(sequence.defined() && sequence.dim() == 1 && sequence.scalar_type() == at::kLong)
      << "sequence must be int64 [T]";
  at::Tensor selected = sequence;
  if (mask.defined()) {
    SLUICE_CHECK(mask.scalar_type() == at::kBool && mask.sizes() == sequence.sizes())
        << "mask must be bool [" << sequence.size(0) << "]";
    rows_ = mask.nonzero().squeeze(1);
    selected = sequence.index_select(0, rows_);
  }
  tokens_ = selected.size(0);
  at::Tensor unique;
  std::tie(unique, slot_, length_) = at::unique_consecutive(selected, true, true);
  sequences_ = tokens_ > 0 ? unique.size(0) : 0;
  if (tokens_ == 0) {
    slot_ = at::empty({0}, sequence.options());
    length_ = at::empty({0}, sequence.options());
  }
}

at::Tensor TokenRows::select(const at::Tensor& values) const {
  if (!values.defined() || !rows_.defined()) return values;
  return values.index_select(0, rows_);
}

at::Tensor TokenRows::sum(const at::Tensor& selected) const {
  return at::zeros({sequences_}, selected.options()).index_add(0, slot_, selected);
}

at::Tensor TokenRows::mean(const at::Tensor& selected) const { return sum(selected) / length_; }

at::Tensor TokenRows::spread(const at::Tensor& per_sequence) const {
  return per_sequence.index_select(0, slot_);
}

at::Tensor TokenRows::reduce(const at::Tensor& selected, Aggregation aggregation,
                             const Denominator& denominator) const {
  SLUICE_CHECK(selected.dim() == 1 && selected.size(0) == tokens_)
      << "one value per token that counts: " << tokens_;
  const bool means = aggregation == Aggregation::SequenceMeanTokenMean;
  return (means ? mean(selected) : selected).sum() / denominator.divisor(aggregation);
}

at::Tensor aggregate(const at::Tensor& values, const at::Tensor& mask, const at::Tensor& sequence,
                     Aggregation aggregation, const Denominator& denominator) {
  const TokenRows rows(mask, sequence);
  return rows.reduce(rows.select(values), aggregation, denominator);
}

}  // namespace sluice
