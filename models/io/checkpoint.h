#pragma once
#include "dataflow/base/result.h"
#include "models/io/stored_type.h"

#include <ATen/core/Tensor.h>
#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sluice {

/// One tensor of a checkpoint: Hugging Face name, stored type, Hugging Face shape.
struct CheckpointTensor {
  std::string name;
  StoredType type = StoredType::F32;
  std::vector<int64_t> shape;
  uint64_t bytes = 0;  ///< as stored
};

/// A model on disk, seen as a Hugging Face folder whatever its format: a folder with config.json
/// and safetensors, or a .gguf file. Opening reads headers only. Any thread.
///
///   ASSIGN_OR_RETURN(const auto model, Checkpoint::open("models/x"));
///   ASSIGN_OR_RETURN(at::Tensor w, model->read("model.norm.weight", at::kFloat));
class Checkpoint {
 public:
  /// Errors are one line that names the file and the key.
  static Result<std::unique_ptr<Checkpoint>> open(const std::string& path);

  virtual ~Checkpoint() = default;
  Checkpoint() = default;
  Checkpoint(const Checkpoint&) = delete;
  Checkpoint& operator=(const Checkpoint&) = delete;

  /// What was opened.
  [[nodiscard]] virtual const std::string& path() const noexcept = 0;
  /// "safetensors" or "gguf".
  [[nodiscard]] virtual std::string format() const = 0;

  /// Content of config.json and generation_config.json (an empty object when there is none).
  [[nodiscard]] virtual const nlohmann::json& config() const noexcept = 0;
  [[nodiscard]] virtual const nlohmann::json& generation_config() const noexcept = 0;
  /// Content of tokenizer.json, read anew each time: keep it. NotFound when there is none.
  virtual Result<nlohmann::json> tokenizer_json() const = 0;
  /// Content of tokenizer_config.json, an empty object when there is none; "chat_template" is in it
  /// wherever the model keeps it.
  virtual Result<nlohmann::json> tokenizer_config() const = 0;

  [[nodiscard]] virtual const std::vector<CheckpointTensor>& tensors() const noexcept = 0;
  /// Null when there is no such tensor.
  [[nodiscard]] const CheckpointTensor* find(const std::string& name) const noexcept;

  /// A tensor, converted to `as`. It may look at the mapped file, which it keeps alive; writing to
  /// it changes this process's copy only, and MappedFile says what happens when the file is cut.
  /// NotFound names the file and the nearest tensor.
  Result<at::Tensor> read(const std::string& name, at::ScalarType as) const {
    return read_tensor(name, as, /*copy=*/false);
  }
  /// The same in memory of its own: nothing that happens to the file later reaches it, and a file
  /// that was cut is an error.
  Result<at::Tensor> read_copy(const std::string& name, at::ScalarType as) const {
    return read_tensor(name, as, /*copy=*/true);
  }

 protected:
  virtual Result<at::Tensor> read_tensor(const std::string& name, at::ScalarType as,
                                         bool copy) const = 0;
};

}  // namespace sluice
