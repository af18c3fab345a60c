#include "models/nets/init.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numbers>

namespace sluice {

void orthogonal(RandomKey key, int64_t rows, int64_t columns, double gain, float* out) {
  const int64_t longer = std::max(rows, columns);
  const int64_t shorter = std::min(rows, columns);
  at::Tensor normal = at::empty({longer, shorter}, at::kDouble);
  auto* values = normal.data_ptr<double>();
  for (int64_t i = 0; i < longer * shorter; ++i) {
    values[i] =
        static_cast<double>(key.normal(static_cast<uint64_t>(i / 2))[static_cast<size_t>(i % 2)]);
  }
  const auto [q, r] = at::linalg_qr(normal);
  // Without the signs, Q would follow the QR routine's convention and not the uniform distribution.
  const at::Tensor signs = at::where(r.diagonal() < 0, -1.0, 1.0).to(at::kDouble);
  at::Tensor result = q * signs * gain;
  if (rows < columns) result = result.t();
  const at::Tensor floats = result.to(at::kFloat).contiguous();
  const auto* from = floats.data_ptr<float>();
  std::copy(from, from + rows * columns, out);
}

void initialise_mlp(const MlpSpec& spec, const std::string& prefix, double output_gain,
                    RandomKey key, ParameterSet& parameters) {
  const RandomKey root = key.split(prefix);
  for (int64_t i = 0; i < spec.layers(); ++i) {
    const std::string layer = prefix + "." + std::to_string(i);
    const double gain = i + 1 < spec.layers() ? std::numbers::sqrt2 : output_gain;
    orthogonal(root.split(static_cast<uint64_t>(i)), spec.in(i), spec.out(i), gain,
               parameters.data(layer + ".weight"));
    std::fill_n(parameters.data(layer + ".bias"), spec.out(i), 0.0F);
  }
}

}  // namespace sluice
