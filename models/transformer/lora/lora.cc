#include "models/transformer/lora/lora.h"

#include "dataflow/base/nearest.h"

#include <ATen/ATen.h>

#include <cmath>
#include <unordered_map>
#include <unordered_set>

namespace sluice {
namespace {
const std::string kPrefix = "base_model.model.";
constexpr const char* kA = ".lora_A.weight";
constexpr const char* kB = ".lora_B.weight";

std::string shape(at::IntArrayRef sizes) {
  return fmt::format("[{}]", fmt::join(sizes.vec(), ", "));
}

/// Uniform in +-1/sqrt(columns).
at::Tensor draw_a(int64_t rows, int64_t columns, RandomKey key, at::ScalarType dtype) {
  at::Tensor out = at::empty({rows, columns}, at::kFloat);
  auto* values = out.mutable_data_ptr<float>();
  const float bound = 1 / std::sqrt(static_cast<float>(columns));
  for (int64_t i = 0; i < out.numel(); ++i) {
    values[i] = bound * (2 * key.uniform(static_cast<uint64_t>(i)) - 1);
  }
  return out.to(dtype);
}

Status check_layers(std::span<const LoraLayer> layers) {
  std::unordered_set<std::string> seen;
  for (const LoraLayer& layer : layers) {
    SLUICE_CHECK(layer.linear.weight.defined() && layer.linear.weight.dim() == 2)
        << layer.linear.name << " has no weight [out, in]";
    if (!seen.insert(layer.linear.name).second) {
      return error(Code::AlreadyExists, "two linear layers are named '{}'", layer.linear.name);
    }
  }
  return {};
}

/// Takes tensors by name and knows afterwards which nobody took.
class Store {
 public:
  Store(const LoraSet::Parameters& stored, at::ScalarType dtype) : dtype_(dtype) {
    for (const LoraSet::Parameter& p : stored) tensors_.emplace(p.name, p.tensor);
  }

  [[nodiscard]] bool has(const std::string& name) const { return tensors_.contains(name); }

  Status take(const std::string& name, std::vector<int64_t> wanted, at::Tensor& out) {
    const auto at = tensors_.find(name);
    if (at == tensors_.end()) {
      return invalid_argument("the adapter has no tensor '{}' {}", name, shape(wanted));
    }
    if (at->second.sizes() != at::IntArrayRef(wanted)) {
      return invalid_argument("tensor '{}' is {}, the model and config need {}", name,
                              shape(at->second.sizes()), shape(wanted));
    }
    if (!at->second.is_floating_point()) {
      return invalid_argument("tensor '{}' is not floating point", name);
    }
    out = at->second.detach().to(dtype_).clone();
    tensors_.erase(at);
    return {};
  }

  Status check_empty(std::span<const LoraLayer> layers) const {
    if (tensors_.empty()) return {};
    std::string name = tensors_.begin()->first;
    for (const auto& [other, tensor] : tensors_) name = std::min(name, other);
    std::vector<std::string> known;
    for (const LoraLayer& layer : layers) {
      known.push_back(kPrefix + layer.linear.name + kA);
      known.push_back(kPrefix + layer.linear.name + kB);
    }
    return invalid_argument("tensor '{}' belongs to no layer that the config adapts{}", name,
                            did_you_mean(name, known));
  }

 private:
  at::ScalarType dtype_;
  std::unordered_map<std::string, at::Tensor> tensors_;
};
}  // namespace

Result<LoraSet> LoraSet::create(const LoraConfig& config, std::span<const LoraLayer> layers,
                                RandomKey key, at::ScalarType dtype) {
  RETURN_IF_ERROR(check_layers(layers));
  ASSIGN_OR_RETURN(const LoraTargets targets, select_targets(config, layers, NamesMust::AllExist));
  LoraSet out;
  out.config_ = config;
  for (const LoraTarget& target : targets.adapters) {
    const Linear& linear = layers[target.layer].linear;
    const RandomKey own = key.split("lora").split(linear.name);
    out.adapters_.emplace(
        linear.name,
        LoraAdapter{draw_a(target.rank, linear.weight.size(1), own, dtype),
                    at::zeros({linear.weight.size(0), target.rank}, dtype), target.scale});
  }
  for (const size_t i : targets.saved) {
    Linear copy = layers[i].linear;
    copy.weight = copy.weight.detach().to(dtype).clone();
    if (copy.bias.defined()) copy.bias = copy.bias.detach().to(dtype).clone();
    out.saved_.emplace(copy.name, copy);
  }
  return out;
}

Result<LoraSet> LoraSet::from_tensors(const LoraConfig& config, std::span<const LoraLayer> layers,
                                      const Parameters& stored, at::ScalarType dtype) {
  RETURN_IF_ERROR(check_layers(layers));
  ASSIGN_OR_RETURN(const LoraTargets targets, select_targets(config, layers, NamesMust::SomeExist));
  LoraSet out;
  out.config_ = config;
  Store store(stored, dtype);
  for (const LoraTarget& target : targets.adapters) {
    const Linear& linear = layers[target.layer].linear;
    LoraAdapter adapter;
    adapter.scale = target.scale;
    const std::string name = kPrefix + linear.name;
    RETURN_IF_ERROR(store.take(name + kA, {target.rank, linear.weight.size(1)}, adapter.a));
    RETURN_IF_ERROR(store.take(name + kB, {linear.weight.size(0), target.rank}, adapter.b));
    out.adapters_.emplace(linear.name, adapter);
  }
  for (const size_t i : targets.saved) {
    Linear copy = layers[i].linear;
    const std::string name = kPrefix + copy.name;
    RETURN_IF_ERROR(store.take(name + ".weight", copy.weight.sizes().vec(), copy.weight));
    if (copy.bias.defined()) {
      RETURN_IF_ERROR(store.take(name + ".bias", copy.bias.sizes().vec(), copy.bias));
    }
    out.saved_.emplace(copy.name, copy);
  }
  RETURN_IF_ERROR(store.check_empty(layers));
  return out;
}

const LoraAdapter* LoraSet::find(const std::string& layer) const {
  const auto at = adapters_.find(layer);
  return at == adapters_.end() ? nullptr : &at->second;
}

const Linear& LoraSet::resolve(const Linear& layer) const {
  if (saved_.empty()) return layer;
  const auto at = saved_.find(layer.name);
  return at == saved_.end() ? layer : at->second;
}

LoraSet::Parameters LoraSet::parameters() const {
  std::map<std::string, at::Tensor> sorted;
  for (const auto& [name, adapter] : adapters_) {
    sorted.emplace(kPrefix + name + kA, adapter.a);
    sorted.emplace(kPrefix + name + kB, adapter.b);
  }
  for (const auto& [name, linear] : saved_) {
    sorted.emplace(kPrefix + name + ".weight", linear.weight);
    if (linear.bias.defined()) sorted.emplace(kPrefix + name + ".bias", linear.bias);
  }
  Parameters out;
  for (auto& [name, tensor] : sorted) out.push_back({name, tensor});
  return out;
}

void LoraSet::requires_grad(bool wanted) {
  for (const Parameter& p : parameters()) p.tensor.requires_grad_(wanted);
}

}  // namespace sluice
