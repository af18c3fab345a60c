#include "inference/kernels/packed_linear_op.h"

#include "inference/kernels/linear_product.h"
#include "inference/kernels/packed_matrix.h"
#include "models/transformer/parallel_rows.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sluice {
namespace {

const float* floats(const at::Tensor& t) { return static_cast<const float*>(t.const_data_ptr()); }

at::Tensor as_floats(const at::Tensor& t) {
  return t.detach().to(at::kCPU, at::kFloat).contiguous();
}

/// Layers of one input that are packed together.
struct Group {
  std::vector<std::string> layers;
  std::vector<std::string> sources;  ///< where their weight and bias are: SOURCE.weight
  std::vector<int64_t> outputs;
  int64_t in = 0;
};

std::vector<Group> groups_of(const TransformerConfig& config) {
  constexpr std::string_view kEnd = ".weight";
  std::vector<Group> groups;
  std::string last;  // the group of the layer before, if it has one
  const auto add = [&](const ParameterSpec& spec, const std::string& source,
                       const std::string& layer) {
    if (spec.group.empty() || spec.group != last) groups.emplace_back();
    last = spec.group;
    groups.back().layers.push_back(layer);
    groups.back().sources.push_back(source);
    groups.back().outputs.push_back(spec.shape[0]);
    groups.back().in = spec.shape[1];
  };
  for (const ParameterSpec& spec : parameter_specs(config)) {
    if (spec.shape.size() != 2 || !spec.name.ends_with(kEnd)) continue;
    const std::string source = spec.name.substr(0, spec.name.size() - kEnd.size());
    if (source == "model.embed_positions") continue;
    if (source != "model.embed_tokens") {
      add(spec, source, source);
    } else if (config.head == HeadKind::Language && config.tied_head) {
      add(spec, source, "lm_head");
    }
  }
  return groups;
}

}  // namespace

struct PackedLinearOp::Weights {
  struct Matrix {
    Group group;
    PackedMatrix packed;
    std::vector<float> bias;  ///< empty: none
  };
  struct Place {
    size_t matrix;
    int64_t layer;
  };

  Weights(const TransformerConfig& config, WeightFormat format) {
    for (Group& group : groups_of(config)) {
      for (size_t i = 0; i < group.layers.size(); ++i) {
        places.emplace(group.layers[i], Place{matrices.size(), static_cast<int64_t>(i)});
      }
      PackedMatrix packed(format, group.outputs, group.in);
      matrices.push_back({std::move(group), std::move(packed), {}});
    }
  }

  Status check(const Parameters& parameters) const {
    for (const Matrix& m : matrices) {
      for (size_t i = 0; i < m.group.sources.size(); ++i) {
        const std::string name = m.group.sources[i] + ".weight";
        const at::Tensor weight = parameters.get(name);
        const std::vector<int64_t> wanted = {m.group.outputs[i], m.group.in};
        if (!weight.defined()) return invalid_argument("weights lack {}", name);
        if (weight.sizes() != at::IntArrayRef(wanted)) {
          return invalid_argument("{} is {}, the model's is {}", name, shape_text(weight.sizes()),
                                  shape_text(wanted));
        }
        const at::Tensor bias = parameters.get(m.group.sources[i] + ".bias");
        if (bias.defined() && bias.sizes() != at::IntArrayRef(wanted).slice(0, 1)) {
          return invalid_argument("{}.bias is {}, the model's is [{}]", m.group.sources[i],
                                  shape_text(bias.sizes()), wanted[0]);
        }
      }
    }
    return {};
  }

  void pack(const Parameters& parameters, bool on_all_threads) {
    for (Matrix& m : matrices) {
      m.bias.clear();
      for (size_t i = 0; i < m.group.sources.size(); ++i) {
        const auto layer = static_cast<int64_t>(i);
        const at::Tensor weight = as_floats(parameters.at(m.group.sources[i] + ".weight"));
        const float* from = floats(weight);
        const int64_t panels = m.packed.panels(layer);
        parallel_rows(panels, on_all_threads ? 4 : panels,
                      [&](int64_t begin, int64_t end) { m.packed.pack(layer, from, begin, end); });
        const at::Tensor bias = parameters.get(m.group.sources[i] + ".bias");
        if (!bias.defined()) continue;
        m.bias.resize(static_cast<size_t>(m.packed.column(m.packed.layers())));
        const at::Tensor b = as_floats(bias);
        std::copy_n(floats(b), b.numel(), m.bias.begin() + m.packed.column(layer));
      }
    }
  }

  std::vector<Matrix> matrices;
  std::unordered_map<std::string, Place> places;
};

namespace {

at::Tensor product(const LinearWeights& w, int64_t panels, int64_t outputs, const float* bias,
                   const at::Tensor& x) {
  SLUICE_CHECK(x.size(-1) == w.in) << x.size(-1) << " inputs, the layer takes " << w.in;
  const at::Tensor in = as_floats(x);
  std::vector<int64_t> sizes = x.sizes().vec();
  sizes.back() = outputs;
  at::Tensor y = at::empty(sizes, in.options());
  linear_product(w, panels, floats(in), in.numel() / w.in, bias, y.mutable_data_ptr<float>(),
                 outputs);
  return y.to(x.options());
}

}  // namespace

PackedLinearOp::PackedLinearOp(TransformerConfig config, WeightFormat format)
    : config_(std::move(config)),
      format_(format),
      weights_(std::make_unique<Weights>(config_, format)) {}
PackedLinearOp::~PackedLinearOp() = default;

Result<std::shared_ptr<PackedLinearOp>> PackedLinearOp::create(const TransformerConfig& config,
                                                               const Parameters& parameters,
                                                               WeightFormat format) {
  if (format == WeightFormat::Rows) return invalid_argument("weights are not packed as rows");
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the constructor is private.
  std::shared_ptr<PackedLinearOp> op(new PackedLinearOp(config, format));
  RETURN_IF_ERROR(op->weights_->check(parameters));
  op->weights_->pack(parameters, true);
  return op;
}

Status PackedLinearOp::stage(const Parameters& parameters) {
  staged_ = false;
  RETURN_IF_ERROR(weights_->check(parameters));
  if (!second_) second_ = std::make_unique<Weights>(config_, format_);
  second_->pack(parameters, false);
  staged_ = true;
  return {};
}

bool PackedLinearOp::flip() noexcept {
  if (!staged_) return false;
  std::swap(weights_, second_);
  staged_ = false;
  return true;
}

void PackedLinearOp::drop_second() noexcept {
  second_.reset();
  staged_ = false;
}

int64_t PackedLinearOp::bytes() const noexcept {
  int64_t sum = 0;
  for (const Weights::Matrix& m : weights_->matrices) sum += m.packed.bytes();
  return sum;
}

at::Tensor PackedLinearOp::apply(const Linear& layer, const at::Tensor& x) const {
  const auto found = weights_->places.find(layer.name);
  SLUICE_CHECK(found != weights_->places.end()) << "no packed weights of " << layer.name;
  const auto& [matrix, index] = found->second;
  const Weights::Matrix& m = weights_->matrices[matrix];
  const float* bias = m.bias.empty() ? nullptr : m.bias.data() + m.packed.column(index);
  return product(m.packed.view(index), m.packed.panels(index),
                 m.packed.column(index + 1) - m.packed.column(index), bias, x);
}

at::Tensor PackedLinearOp::apply_group(std::span<const Linear> layers, const at::Tensor& x) const {
  const auto found = weights_->places.find(layers.front().name);
  SLUICE_CHECK(found != weights_->places.end()) << "no packed weights of " << layers.front().name;
  const Weights::Matrix& m = weights_->matrices[found->second.matrix];
  const bool whole =
      std::equal(layers.begin(), layers.end(), m.group.layers.begin(), m.group.layers.end(),
                 [](const Linear& layer, const std::string& name) { return layer.name == name; });
  if (!whole) return LinearOp::apply_group(layers, x);
  return product(m.packed.view(), m.packed.panels(), m.packed.column(m.packed.layers()),
                 m.bias.empty() ? nullptr : m.bias.data(), x);
}

}  // namespace sluice
