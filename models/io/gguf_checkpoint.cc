#include "models/io/checkpoint_formats.h"
#include "models/io/gguf_file.h"

#include <ATen/ATen.h>
#include <nlohmann/json.hpp>

#include <unordered_map>

namespace sluice::internal {
namespace {

using nlohmann::json;

// One float for every two dimensions of a head.
constexpr uint64_t kMaxFactorBytes = 1 << 16;

class GgufCheckpoint final : public Checkpoint {
 public:
  static Result<std::unique_ptr<Checkpoint>> open(const std::string& path) {
    auto out = std::make_unique<GgufCheckpoint>();
    ASSIGN_OR_RETURN(out->file_, GgufFile::open(path));
    const Status status = out->load();
    if (!status.ok()) return status.with_context(path);
    return std::unique_ptr<Checkpoint>(std::move(out));
  }

  [[nodiscard]] const std::string& path() const noexcept override { return file_.file().path(); }
  [[nodiscard]] std::string format() const override { return "gguf"; }
  [[nodiscard]] const json& config() const noexcept override { return config_; }
  [[nodiscard]] const json& generation_config() const noexcept override { return generation_; }
  [[nodiscard]] const std::vector<CheckpointTensor>& tensors() const noexcept override {
    return tensors_;
  }

  Result<json> tokenizer_json() const override {
    if (file_.header().find("tokenizer.ggml.model") == nullptr) {
      return error(Code::NotFound, "{}: there is no tokenizer in this file", path());
    }
    auto out = gguf_tokenizer(file_.header());
    if (!out.ok()) return out.status().with_context(path());
    return out;
  }

  Result<json> tokenizer_config() const override {
    if (file_.header().find("tokenizer.ggml.model") == nullptr) return json::object();
    auto out = gguf_tokenizer_config(file_.header());
    if (!out.ok()) return out.status().with_context(path());
    return out;
  }

  Result<at::Tensor> read_tensor(const std::string& name, at::ScalarType as,
                                 bool copy) const override {
    const auto at = by_name_.find(name);
    if (at == by_name_.end()) return no_such_tensor(*this, name);
    return file_.read(sources_[at->second], as, copy);
  }

 private:
  Status load() {
    const GgufHeader& header = file_.header();
    std::vector<float> factors;
    for (const auto& tensor : header.tensors) {
      if (tensor.name != "rope_freqs.weight") continue;
      if (tensor.bytes > kMaxFactorBytes) {
        return invalid_argument("tensor '{}' has {} bytes, more than {}", tensor.name, tensor.bytes,
                                kMaxFactorBytes);
      }
      ASSIGN_OR_RETURN(const at::Tensor values, file_.read_raw(tensor));
      factors.assign(values.data_ptr<float>(), values.data_ptr<float>() + values.numel());
    }
    ASSIGN_OR_RETURN(config_, gguf_config(header, factors));
    ASSIGN_OR_RETURN(generation_, gguf_generation_config(header));
    ASSIGN_OR_RETURN(sources_, gguf_sources(header, config_));
    for (size_t i = 0; i < sources_.size(); ++i) {
      const GgufSource& source = sources_[i];
      if (!by_name_.emplace(source.name, i).second) {
        return invalid_argument("two tensors are named '{}'", source.name);
      }
      const GgufTensor& stored = header.tensors[source.tensor];
      uint64_t bytes = stored.bytes;
      if (source.slice >= 0) bytes /= static_cast<uint64_t>(stored.shape[0]);
      tensors_.push_back({source.name, stored.type, source.shape, bytes});
    }
    return {};
  }

  GgufFile file_;
  json config_;
  json generation_;
  std::vector<GgufSource> sources_;
  std::unordered_map<std::string, size_t> by_name_;
  std::vector<CheckpointTensor> tensors_;
};

}  // namespace

Result<std::unique_ptr<Checkpoint>> open_gguf(const std::string& path) {
  return GgufCheckpoint::open(path);
}

}  // namespace sluice::internal
