#include "trainer/lm/flat_parameters.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cstring>

namespace sluice {
namespace {

constexpr int64_t kLine = 16;  // floats of a cache line

int64_t aligned(int64_t n) { return (n + kLine - 1) / kLine * kLine; }

}  // namespace

FlatParameters::FlatParameters(const std::vector<Trained>& trained) {
  const at::NoGradGuard no_grad;
  int64_t next = 0;
  for (const bool decays : {true, false}) {
    const std::string* group = nullptr;
    for (const Trained& t : trained) {
      if (t.decays != decays) continue;
      const bool continues = group != nullptr && !t.group.empty() && *group == t.group;
      if (!continues) next = aligned(next);
      group = &t.group;
      entries_.push_back({t.name, t.tensor, next});
      next += t.tensor.numel();
      count_ += t.tensor.numel();
    }
    next = aligned(next);
    if (decays) decayed_ = next;
  }
  values_ = at::zeros({next}, at::kFloat);
  gradients_ = at::zeros({next}, at::kFloat);
  for (Entry& entry : entries_) {
    const at::Tensor mine = part(values_, entry);
    mine.copy_(entry.tensor);
    // A tensor over the buffer's storage, no view of it: it stays a leaf.
    at::Tensor leaf = at::empty({0}, values_.options());
    leaf.set_(values_.storage(), entry.offset, mine.sizes(), mine.strides());
    entry.tensor.set_data(leaf);
    entry.tensor.requires_grad_(true);
    entry.tensor.mutable_grad() = part(gradients_, entry);
  }
}

float* FlatParameters::values() const { return values_.mutable_data_ptr<float>(); }
float* FlatParameters::gradients() const { return gradients_.mutable_data_ptr<float>(); }

at::Tensor FlatParameters::zeros() const { return at::zeros_like(values_); }

at::Tensor FlatParameters::part(const at::Tensor& flat, const Entry& entry) {
  return flat.narrow(0, entry.offset, entry.tensor.numel()).view(entry.tensor.sizes());
}

void FlatParameters::zero_gradients() const { gradients_.zero_(); }

}  // namespace sluice
