#include "models/transformer/logprobs/logits_tile.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <utility>

namespace sluice {
namespace {
/// Rows of a tile: enough that the products run at full speed, few enough that columns are many.
constexpr int64_t kTileRows = 1024;
}  // namespace

std::string shape_text(const at::Tensor& tensor) {
  return fmt::format("[{}]", fmt::join(tensor.sizes().vec(), ", "));
}

at::ScalarType compute_type(const at::Tensor& hidden, const at::Tensor& weight) {
  const bool wide = hidden.scalar_type() == at::kDouble || weight.scalar_type() == at::kDouble;
  return wide ? at::kDouble : at::kFloat;
}

LogitsTiles::LogitsTiles(LogitsSource source)
    : source_(std::move(source)),
      dtype_(compute_type(source_.hidden, source_.weight)),
      scale_(1 / (source_.softcap > 0 ? source_.softcap : source_.temperature)) {
  const int64_t tokens = source_.hidden.size(0);
  const int64_t vocabulary = source_.weight.size(0);
  scaled_hidden_ = source_.hidden.to(dtype_);
  if (scale_ != 1) scaled_hidden_ = scaled_hidden_ * scale_;
  rows_ = std::clamp<int64_t>(std::min(tokens, source_.tile), 1, kTileRows);
  cols_ = std::clamp<int64_t>(source_.tile / rows_, 1, vocabulary);
  if (source_.buffered) {
    buffer_ = at::empty({std::min(tokens, rows_) * cols_}, source_.hidden.options().dtype(dtype_));
  }
}

at::Tensor LogitsTiles::weight(int64_t col, int64_t cols) const {
  return source_.weight.narrow(0, col, cols).to(dtype_);
}

at::Tensor LogitsTiles::logits(int64_t row, int64_t count, int64_t col, int64_t cols) const {
  at::Tensor tile = source_.buffered
                        ? buffer_.narrow(0, 0, count * cols).view({count, cols})
                        : at::empty({count, cols}, scaled_hidden_.options().requires_grad(false));
  const at::Tensor h = scaled_hidden_.narrow(0, row, count);
  const at::Tensor w = weight(col, cols).t();
  if (source_.bias.defined()) {
    const at::Tensor b = source_.bias.narrow(0, col, cols).to(dtype_) * scale_;
    at::addmm_out(tile, b, h, w);
  } else {
    at::mm_out(tile, h, w);
  }
  if (source_.softcap > 0) tile.tanh_().mul_(source_.softcap / source_.temperature);
  return tile;
}

at::Tensor LogitsTiles::softcap_slope(const at::Tensor& tile) const {
  if (source_.softcap <= 0) return {};
  // tile = cap / T tanh(z / cap), so d tile / d (z / cap) = cap / T (1 - tanh^2)
  const double factor = source_.softcap / source_.temperature;
  return (tile * (1 / factor)).square_().neg_().add_(1).mul_(factor);
}

LogitsGradient::LogitsGradient(const LogitsTiles& tiles, bool hidden, bool weight, bool bias,
                               const at::Tensor& weight_sink)
    : tiles_(tiles), owns_weight_(!weight_sink.defined()) {
  const LogitsSource& source = tiles.source();
  const at::TensorOptions as = source.hidden.options().dtype(tiles.dtype());
  if (hidden) hidden_ = at::zeros(source.hidden.sizes(), as);
  if (weight) weight_ = owns_weight_ ? at::zeros(source.weight.sizes(), as) : weight_sink;
  if (bias) bias_ = at::zeros(source.bias.sizes(), as);
}

void LogitsGradient::add(const at::Tensor& tile, int64_t row, int64_t count, int64_t col,
                         int64_t cols) {
  if (hidden_.defined()) hidden_.narrow(0, row, count).addmm_(tile, tiles_.weight(col, cols));
  if (weight_.defined()) {
    weight_.narrow(0, col, cols).addmm_(tile.t(), tiles_.scaled_hidden().narrow(0, row, count));
  }
  if (bias_.defined()) bias_.narrow(0, col, cols).add_(tile.sum(0));
}

at::Tensor LogitsGradient::hidden() const {
  return hidden_.defined() ? (hidden_ * tiles_.scale()).to(tiles_.source().hidden.scalar_type())
                           : hidden_;
}

at::Tensor LogitsGradient::weight() const {
  if (!weight_.defined() || !owns_weight_) return {};
  return weight_.to(tiles_.source().weight.scalar_type());
}

at::Tensor LogitsGradient::bias() const {
  return bias_.defined() ? (bias_ * tiles_.scale()).to(tiles_.source().bias.scalar_type()) : bias_;
}

}  // namespace sluice
