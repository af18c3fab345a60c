#include "models/io/hf_writer.h"

#include "dataflow/base/files.h"
#include "models/io/atomic_file.h"

#include <ATen/ATen.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace sluice {
namespace {

using nlohmann::json;

std::string text_of(const json& value) {
  return value.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

Status write_tokenizer_config(const std::string& folder, json config) {
  const auto chat = config.find("chat_template");
  if (chat != config.end() && chat->is_string()) {
    RETURN_IF_ERROR(
        write_file_synced(folder + "/chat_template.jinja", chat->get_ref<const std::string&>()));
    config.erase(chat);
  }
  json specials = json::object();
  for (const char* key : {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token",
                          "cls_token", "mask_token", "additional_special_tokens"}) {
    if (config.contains(key) && !config[key].is_null()) specials[key] = config[key];
  }
  RETURN_IF_ERROR(write_file_synced(folder + "/special_tokens_map.json", text_of(specials)));
  return write_file_synced(folder + "/tokenizer_config.json", text_of(config));
}

const char* torch_name(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return "float32";
    case at::kHalf:
      return "float16";
    case at::kBFloat16:
      return "bfloat16";
    case at::kDouble:
      return "float64";
    default:
      return nullptr;
  }
}

}  // namespace

Status refuse_quantized(const Checkpoint& from) {
  const auto found = from.config().find("quantization_config");
  if (found == from.config().end() || found->is_null()) return {};
  const auto method = found->is_object() ? found->find("quant_method") : found->end();
  return error(Code::Unimplemented,
               "{}: config.json: quantization_config {}: its weights mean nothing without their "
               "scales, so they cannot be converted",
               from.path(), found->is_object() && method != found->end() ? method->dump() : "");
}

Status write_hf_folder(const std::string& path, const HfFolderContent& content) {
  SLUICE_CHECK(content.config != nullptr && content.producer);
  ASSIGN_OR_RETURN(AtomicFolder target, AtomicFolder::create(path));
  const std::string& folder = target.folder();
  RETURN_IF_ERROR(write_file_synced(folder + "/config.json", text_of(*content.config)));
  if (content.generation_config != nullptr && !content.generation_config->empty()) {
    RETURN_IF_ERROR(
        write_file_synced(folder + "/generation_config.json", text_of(*content.generation_config)));
  }
  if (content.tokenizer_json != nullptr) {
    RETURN_IF_ERROR(
        write_file_synced(folder + "/tokenizer.json", text_of(*content.tokenizer_json)));
  }
  if (content.tokenizer_config != nullptr && !content.tokenizer_config->empty()) {
    RETURN_IF_ERROR(write_tokenizer_config(folder, *content.tokenizer_config));
  }
  RETURN_IF_ERROR(
      write_safetensors_set(folder, content.tensors, content.producer, content.max_shard_bytes));
  return target.commit();
}

Status convert_to_hf(const Checkpoint& from, const std::string& path,
                     std::optional<at::ScalarType> type, uint64_t max_shard_bytes,
                     const std::function<at::Tensor(const std::string& name)>& values) {
  if (type) RETURN_IF_ERROR(refuse_quantized(from));
  HfFolderContent content;
  content.max_shard_bytes = max_shard_bytes;
  // The type that most elements get is the model's.
  std::map<at::ScalarType, int64_t> elements;
  for (const auto& tensor : from.tensors()) {
    const auto stored = scalar_type(tensor.type);
    if (!stored && block_elements(tensor.type) == 1) {
      return error(Code::Unimplemented, "{}: tensor '{}' is stored as {}", from.path(), tensor.name,
                   name(tensor.type));
    }
    at::ScalarType as = stored ? *stored : at::kBFloat16;
    if (type && at::isFloatingType(as)) as = *type;
    content.tensors.push_back({tensor.name, as, tensor.shape});
    int64_t count = 1;
    for (const int64_t size : tensor.shape) count *= size;
    elements[as] += count;
  }
  content.producer = [&](size_t i) -> Result<at::Tensor> {
    const TensorToWrite& wanted = content.tensors[i];
    const at::Tensor other = values ? values(wanted.name) : at::Tensor();
    if (other.defined()) return other.to(wanted.type).contiguous();
    return from.read_copy(wanted.name, wanted.type);
  };
  json config = from.config();
  const auto largest =
      std::max_element(elements.begin(), elements.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (largest != elements.end() && torch_name(largest->first) != nullptr) {
    config.erase("dtype");
    config["torch_dtype"] = torch_name(largest->first);
  }
  content.config = &config;
  content.generation_config = &from.generation_config();
  auto tokenizer = from.tokenizer_json();
  if (!tokenizer.ok() && tokenizer.status().code() != Code::NotFound) return tokenizer.status();
  if (tokenizer.ok()) content.tokenizer_json = &*tokenizer;
  ASSIGN_OR_RETURN(const json tokenizer_config, from.tokenizer_config());
  content.tokenizer_config = &tokenizer_config;
  return write_hf_folder(path, content);
}

}  // namespace sluice
