#include "models/transformer/lora/merged_lora.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <unordered_map>
#include <utility>

namespace sluice {
namespace {
at::Tensor merged_weight(const at::Tensor& weight, const LoraAdapter& adapter) {
  const auto type = weight.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  return at::addmm(weight.to(type), adapter.b.to(type), adapter.a.to(type), 1, adapter.scale)
      .to(weight.scalar_type());
}

/// Tensors of the inference mode count no versions.
uint64_t version(const at::Tensor& x) {
  return x.is_inference() ? 0 : static_cast<uint64_t>(x._version());
}

bool finite(const at::Tensor& x) { return x.isfinite().all().item<bool>(); }

std::string shape(const at::Tensor& x) {
  return fmt::format("[{}]", fmt::join(x.sizes().vec(), ", "));
}
}  // namespace

Result<MergedLora> MergedLora::merge(const LoraSet& lora, std::span<const LoraLayer> layers) {
  const at::NoGradGuard no_grad;
  std::unordered_map<std::string, const Linear*> by_name;
  for (const LoraLayer& layer : layers) by_name.emplace(layer.linear.name, &layer.linear);
  MergedLora out;
  for (const auto& [name, adapter] : lora.adapters()) {
    const auto at = by_name.find(name);
    if (at == by_name.end()) {
      return error(Code::NotFound, "the model has no linear layer '{}' to merge into", name);
    }
    const at::Tensor& weight = at->second->weight;
    if (weight.size(0) != adapter.b.size(0) || weight.size(1) != adapter.a.size(1)) {
      return invalid_argument("an adapter A {}, B {} does not fit the weight {} of '{}'",
                              shape(adapter.a), shape(adapter.b), shape(weight), name);
    }
    if (!finite(adapter.a) || !finite(adapter.b)) {
      return invalid_argument("the adapter of '{}' is not finite", name);
    }
    out.changes_.push_back({name, weight, {}, merged_weight(weight, adapter), 0});
  }
  for (const auto& [name, saved] : lora.saved()) {
    const auto at = by_name.find(name);
    if (at == by_name.end()) {
      return error(Code::NotFound, "the model has no linear layer '{}' to merge into", name);
    }
    out.changes_.push_back({name, at->second->weight, {}, saved.weight, 0});
    if (saved.bias.defined()) out.changes_.push_back({name, at->second->bias, {}, saved.bias, 0});
  }
  for (Change& change : out.changes_) {
    change.original = change.target.detach().clone();
    change.target.copy_(change.merged);
    change.merged.reset();
  }
  // Only now: weights that lie in one allocation share a counter.
  for (Change& change : out.changes_) change.version = version(change.target);
  return out;
}

Status MergedLora::unmerge() {
  const at::NoGradGuard no_grad;
  for (const Change& change : changes_) {
    if (version(change.target) != change.version) {
      return error(Code::FailedPrecondition,
                   "the weight of '{}' was written to while an adapter was merged", change.layer);
    }
  }
  for (const Change& change : changes_) change.target.copy_(change.original);
  changes_.clear();
  return {};
}

}  // namespace sluice
