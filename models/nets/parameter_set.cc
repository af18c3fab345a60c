#include "models/nets/parameter_set.h"

#include <ATen/ATen.h>

#include <cstring>

namespace sluice {

ParameterSet::ParameterSet(const ParameterLayout& layout) {
  for (const auto& [name, shape] : layout) {
    int64_t elements = 1;
    for (const int64_t extent : shape) elements *= extent;
    entries_.push_back({name, shape, size_, elements});
    size_ += elements;
  }
  flat_ = at::zeros({size_}, at::kFloat);  // LibTorch aligns CPU storage to 64 bytes
  data_ = flat_.data_ptr<float>();
}

ParameterSet ParameterSet::zeros_like() const {
  ParameterLayout layout;
  for (const Entry& entry : entries_) layout.emplace_back(entry.name, entry.shape);
  return ParameterSet(layout);
}

ParameterSet ParameterSet::clone() const {
  ParameterSet copy = zeros_like();
  copy.assign(data_);
  return copy;
}

const ParameterSet::Entry& ParameterSet::find(std::string_view name) const {
  size_t i = 0;
  while (i < entries_.size() && entries_[i].name != name) ++i;
  SLUICE_CHECK(i < entries_.size()) << "no parameter '" << std::string(name) << "'";
  return entries_[i];
}

at::Tensor ParameterSet::view(std::string_view name) const { return view(find(name)); }

at::Tensor ParameterSet::view(const Entry& entry) const {
  return flat_.narrow(0, entry.offset, entry.elements).view(entry.shape);
}

std::vector<at::Tensor> ParameterSet::views() const {
  std::vector<at::Tensor> result;
  result.reserve(entries_.size());
  for (const Entry& entry : entries_) result.push_back(view(entry));
  return result;
}

void ParameterSet::assign(const float* values) {
  if (size_ > 0) std::memcpy(data_, values, static_cast<size_t>(size_) * sizeof(float));
}

}  // namespace sluice
