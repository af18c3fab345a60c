#include "models/transformer/parameters.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/ranges.h>

#include <cmath>

namespace sluice {
namespace {

int64_t numel_of(const std::vector<int64_t>& shape) {
  int64_t n = 1;
  for (const int64_t d : shape) n *= d;
  return n;
}

}  // namespace

at::Tensor Parameters::random_tensor(const ParameterSpec& spec, double range, RandomKey key) {
  if (spec.init == ParameterInit::Zero) return at::zeros(spec.shape, at::kFloat);
  if (spec.init == ParameterInit::One) return at::ones(spec.shape, at::kFloat);
  at::Tensor values = at::empty(spec.shape, at::kFloat);
  auto* out = values.data_ptr<float>();
  const int64_t n = values.numel();
  if (spec.init == ParameterInit::DecayLog) {
    // log of a uniform decay in (0.01, 16), as the reference layer starts.
    for (int64_t i = 0; i < n; ++i) {
      out[i] = std::log(0.01F + 15.99F * key.uniform(static_cast<uint64_t>(i)));
    }
  } else {
    for (int64_t i = 0; i < n; i += 2) {
      const auto pair = key.normal(static_cast<uint64_t>(i / 2));
      out[i] = static_cast<float>(range) * pair[0];
      if (i + 1 < n) out[i + 1] = static_cast<float>(range) * pair[1];
    }
  }
  return values;
}

std::string shape_text(at::IntArrayRef shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

Parameters Parameters::allocate(const std::vector<ParameterSpec>& specs, at::ScalarType dtype,
                                at::Device device) {
  const at::NoGradGuard no_grad;
  const at::TensorOptions options = at::TensorOptions(dtype).device(device);
  Parameters p;
  p.entries_.reserve(specs.size());
  for (size_t i = 0; i < specs.size();) {
    size_t end = i + 1;
    int64_t total = numel_of(specs[i].shape);
    while (!specs[i].group.empty() && end < specs.size() && specs[end].group == specs[i].group) {
      total += numel_of(specs[end++].shape);
    }
    const at::Tensor block = at::empty({total}, options);
    int64_t offset = 0;
    for (; i < end; ++i) {
      const int64_t n = numel_of(specs[i].shape);
      // A tensor of its own over the block's storage: not a view, so it can be a leaf.
      at::Tensor own = at::empty({0}, options);
      std::vector<int64_t> strides(specs[i].shape.size(), 1);
      for (size_t d = strides.size(); d-- > 1;) strides[d - 1] = strides[d] * specs[i].shape[d];
      own.set_(block.storage(), offset, specs[i].shape, strides);
      p.index_.emplace(specs[i].name, p.entries_.size());
      p.entries_.push_back({specs[i].name, own});
      offset += n;
    }
  }
  return p;
}

Parameters Parameters::random(const TransformerConfig& config, RandomKey key,
                              at::ScalarType dtype) {
  const at::NoGradGuard no_grad;
  const auto specs = parameter_specs(config);
  Parameters p = allocate(specs, dtype);
  for (size_t i = 0; i < specs.size(); ++i) {
    const RandomKey own = key.split(specs[i].name);
    p.entries_[i].tensor.copy_(random_tensor(specs[i], config.initializer_range, own));
  }
  return p;
}

bool Parameters::has(std::string_view name) const { return index_.contains(std::string(name)); }

const at::Tensor& Parameters::at(std::string_view name) const {
  const auto found = index_.find(std::string(name));
  SLUICE_CHECK(found != index_.end()) << "no parameter '" << name << "'";
  return entries_[found->second].tensor;
}

at::Tensor Parameters::get(std::string_view name) const {
  const auto found = index_.find(std::string(name));
  return found == index_.end() ? at::Tensor() : entries_[found->second].tensor;
}

int64_t Parameters::numel() const {
  int64_t n = 0;
  for (const Entry& e : entries_) n += e.tensor.numel();
  return n;
}

void Parameters::requires_grad(bool wanted) {
  for (Entry& e : entries_) e.tensor.requires_grad_(wanted);
}

}  // namespace sluice
