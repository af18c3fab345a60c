#include "models/transformer/golden_support.h"

#include <ATen/ATen.h>
#include <nlohmann/json.hpp>

#include <cstring>
#include <fstream>
#include <iterator>

namespace sluice::golden {

const std::vector<std::string>& models() {
  static const std::vector<std::string> all = {
      "llama",       "llama_one_kv_head", "llama_classifier", "rope_linear", "rope_dynamic",
      "rope_llama3", "rope_yarn",         "mistral",          "qwen2",       "qwen3",
      "qwen3_moe",   "qwen3_moe_raw",     "mixtral",          "smollm3",     "gemma2",
      "gpt2",        "qwen3_next"};
  return all;
}

Result<Tensors> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (bytes.size() < 8) return error(Code::NotFound, "cannot read {}", path);
  uint64_t header = 0;
  std::memcpy(&header, bytes.data(), 8);
  const auto json = nlohmann::json::parse(bytes.substr(8, header), nullptr, false);
  if (!json.is_object()) return error(Code::DataLoss, "{} is no safetensors file", path);
  Tensors out;
  for (const auto& [name, entry] : json.items()) {
    if (name == "__metadata__") continue;
    const auto shape = entry["shape"].get<std::vector<int64_t>>();
    at::Tensor t = at::empty(shape, entry["dtype"] == "F32" ? at::kFloat : at::kLong);
    const auto begin = entry["data_offsets"][0].get<size_t>();
    std::memcpy(t.mutable_data_ptr(), bytes.data() + 8 + header + begin, t.nbytes());
    out.emplace(name, std::move(t));
  }
  return out;
}

TensorReader reader(const Tensors& tensors, const std::string& prefix) {
  TensorReader out;
  for (const auto& [name, tensor] : tensors) {
    if (name.starts_with(prefix)) {
      out.tensors.push_back({name.substr(prefix.size()), tensor.sizes().vec()});
    }
  }
  out.read = [&tensors, prefix](const std::string& name) -> Result<at::Tensor> {
    return tensors.at(prefix + name);
  };
  return out;
}

std::string folder(const std::string& name) {
  return std::string(SLUICE_SOURCE_DIR) + "/models/transformer/testdata/" + name;
}

PackedBatch batch_of(const Tensors& golden) {
  const at::Tensor& ids = golden.at("ids");
  const at::Tensor& bounds = golden.at("cu_seqlens");
  std::vector<std::vector<int64_t>> rows;
  for (int64_t i = 0; i + 1 < bounds.numel(); ++i) {
    const auto* at = ids.data_ptr<int64_t>();
    rows.emplace_back(at + bounds[i].item<int64_t>(), at + bounds[i + 1].item<int64_t>());
  }
  return pack(rows);
}

Result<Model> load(const std::string& name, TransformerConfig* out) {
  std::ifstream file(folder(name) + "/config.json");
  const auto json = nlohmann::json::parse(file, nullptr, false);
  ASSIGN_OR_RETURN(TransformerConfig config, read_hf_config(json));
  ASSIGN_OR_RETURN(const Tensors weights, read_file(folder(name) + "/model.safetensors"));
  ASSIGN_OR_RETURN(Tensors golden, read_file(folder(name) + "/golden.safetensors"));
  ASSIGN_OR_RETURN(Parameters parameters, load_parameters(config, reader(weights)));
  if (out != nullptr) *out = config;
  PackedBatch batch = batch_of(golden);
  return Model{Transformer(config, std::move(parameters)), std::move(golden), std::move(batch)};
}

std::vector<std::vector<int64_t>> sequences(const PackedBatch& batch) {
  std::vector<std::vector<int64_t>> rows;
  const auto* at = batch.tokens.data_ptr<int64_t>();
  for (int64_t i = 0; i < batch.sequences(); ++i) {
    const int64_t begin = batch.cu_seqlens[static_cast<size_t>(i)];
    rows.emplace_back(at + begin, at + begin + batch.length(i));
  }
  return rows;
}

}  // namespace sluice::golden
