#include "workers/saved_policy.h"

#include <ATen/ATen.h>

#include <cstring>

namespace sluice {
namespace {

constexpr std::string_view kPrefix = "policy.tensor.";

Snapshot encode_tensor(const at::Tensor& tensor) {
  const at::Tensor dense = tensor.contiguous();
  Snapshot out;
  out.put_array("shape", std::span<const int64_t>(dense.sizes().data(), dense.sizes().size()));
  out.put("data", std::string(static_cast<const char*>(dense.data_ptr()), dense.nbytes()));
  return out;
}

Result<at::Tensor> decode_tensor(std::string_view bytes) {
  ASSIGN_OR_RETURN(const Snapshot in, Snapshot::decode(bytes));
  ASSIGN_OR_RETURN(const auto shape_bytes, in.get("shape"));
  std::vector<int64_t> shape(shape_bytes.size() / sizeof(int64_t));
  RETURN_IF_ERROR(in.get_array("shape", std::span(shape)));
  ASSIGN_OR_RETURN(const auto data, in.get("data"));
  uint64_t size = sizeof(float);
  bool possible = true;
  for (const int64_t d : shape) {
    possible = possible && d >= 0 && !__builtin_mul_overflow(size, static_cast<uint64_t>(d), &size);
  }
  if (!possible || size != data.size()) {
    return error(Code::DataLoss, "a saved tensor of shape [{}] has {} bytes",
                 fmt::join(shape, ", "), data.size());
  }
  at::Tensor tensor = at::empty(shape, at::kFloat);
  if (!data.empty()) std::memcpy(tensor.data_ptr(), data.data(), data.size());
  return tensor;
}

}  // namespace

void SavedPolicy::save(Snapshot& out) const {
  out.put("policy.env", env);
  out.put_array("policy.hidden", std::span<const int64_t>(net.hidden));
  out.put_value("policy.activation", net.activation);
  out.put_value("policy.normalise_observations", net.normalise_observations);
  out.put_value("policy.step", weights.tag.step);
  for (const auto& [name, tensor] : weights.tensors) {
    out.put(std::string(kPrefix) + name, encode_tensor(tensor).encode());
  }
}

Result<SavedPolicy> SavedPolicy::load(const Snapshot& in) {
  SavedPolicy out;
  ASSIGN_OR_RETURN(const auto env, in.get("policy.env"));
  out.env = env;
  ASSIGN_OR_RETURN(const auto hidden, in.get("policy.hidden"));
  out.net.hidden.resize(hidden.size() / sizeof(int64_t));
  RETURN_IF_ERROR(in.get_array("policy.hidden", std::span(out.net.hidden)));
  RETURN_IF_ERROR(in.get_value("policy.activation", out.net.activation));
  if (out.net.activation != Activation::Tanh && out.net.activation != Activation::Relu) {
    return error(Code::DataLoss, "the saved policy has an unknown activation");
  }
  RETURN_IF_ERROR(in.get_value("policy.normalise_observations", out.net.normalise_observations));
  for (const auto& [name, bytes] : in.blobs()) {
    if (!name.starts_with(kPrefix)) continue;
    ASSIGN_OR_RETURN(at::Tensor tensor, decode_tensor(bytes));
    out.weights.tensors.emplace_back(name.substr(kPrefix.size()), std::move(tensor));
  }
  RETURN_IF_ERROR(in.get_value("policy.step", out.weights.tag.step));
  // Blobs come back in order of name: the digest is that of this order.
  out.weights.tag.digest = out.weights.digest();
  return out;
}

}  // namespace sluice
