#include "dataflow/base/files.h"
#include "dataflow/base/nearest.h"
#include "models/io/checkpoint_formats.h"
#include "models/io/json_text.h"
#include "models/io/safetensors_set.h"

#include <nlohmann/json.hpp>

#include <filesystem>

namespace sluice::internal {
namespace {

using nlohmann::json;

class HfCheckpoint final : public Checkpoint {
 public:
  static Result<std::unique_ptr<Checkpoint>> open(const std::string& path) {
    auto out = std::make_unique<HfCheckpoint>();
    out->path_ = path;
    ASSIGN_OR_RETURN(out->config_, object(path + "/config.json", true));
    ASSIGN_OR_RETURN(out->generation_, object(path + "/generation_config.json", false));
    ASSIGN_OR_RETURN(out->weights_, SafetensorsSet::open(path));
    for (const auto& [name, place] : out->weights_.tensors()) {
      const SafetensorsEntry& entry = *place.entry;
      out->tensors_.push_back({name, entry.type, entry.shape, entry.bytes});
    }
    return std::unique_ptr<Checkpoint>(std::move(out));
  }

  [[nodiscard]] const std::string& path() const noexcept override { return path_; }
  [[nodiscard]] std::string format() const override { return "safetensors"; }
  [[nodiscard]] const json& config() const noexcept override { return config_; }
  [[nodiscard]] const json& generation_config() const noexcept override { return generation_; }
  [[nodiscard]] const std::vector<CheckpointTensor>& tensors() const noexcept override {
    return tensors_;
  }

  Result<json> tokenizer_json() const override { return object(path_ + "/tokenizer.json", true); }

  Result<json> tokenizer_config() const override {
    ASSIGN_OR_RETURN(json out, object(path_ + "/tokenizer_config.json", false));
    // Older folders keep the special tokens apart.
    ASSIGN_OR_RETURN(const json specials, object(path_ + "/special_tokens_map.json", false));
    for (const auto& [key, value] : specials.items()) {
      if (!out.contains(key)) out[key] = value;
    }
    const std::string file = path_ + "/chat_template.jinja";
    auto chat = read_file(file);
    if (chat.ok()) {
      if (const size_t bad = find_invalid_utf8(*chat); bad != std::string_view::npos) {
        return invalid_argument("{}: not UTF-8 at byte {}", file, bad);
      }
      out["chat_template"] = *std::move(chat);
    } else if (chat.status().code() != Code::NotFound) {
      return chat.status();
    }
    return out;
  }

  Result<at::Tensor> read_tensor(const std::string& name, at::ScalarType as,
                                 bool copy) const override {
    const auto at = weights_.tensors().find(name);
    if (at == weights_.tensors().end()) return no_such_tensor(*this, name);
    return at->second.file->read(*at->second.entry, as, copy);
  }

 private:
  static Result<json> object(const std::string& file, bool needed) {
    // A parsed document takes several times its text.
    const JsonLimits limits{.max_bytes = size_t{64} << 20};
    ASSIGN_OR_RETURN(json out, needed ? read_json(file, limits) : read_json_if_there(file, limits));
    if (!out.is_object()) return invalid_argument("{}: not a JSON object", file);
    return out;
  }

  std::string path_;
  json config_;
  json generation_;
  SafetensorsSet weights_;
  std::vector<CheckpointTensor> tensors_;
};

}  // namespace

Result<std::unique_ptr<Checkpoint>> open_hf_folder(const std::string& path) {
  return HfCheckpoint::open(path);
}

Status no_such_tensor(const Checkpoint& checkpoint, const std::string& name) {
  std::vector<std::string> names;
  for (const auto& tensor : checkpoint.tensors()) names.push_back(tensor.name);
  return error(Code::NotFound, "{}: no tensor '{}'{}", checkpoint.path(), name,
               did_you_mean(name, names));
}

}  // namespace sluice::internal
