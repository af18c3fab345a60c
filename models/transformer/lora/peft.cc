#include "models/transformer/lora/peft.h"

#include "dataflow/base/files.h"
#include "models/io/json_text.h"
#include "models/io/safetensors.h"
#include "models/io/safetensors_writer.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <system_error>

namespace sluice {
namespace {
constexpr const char* kConfig = "/adapter_config.json";
constexpr const char* kWeights = "/adapter_model.safetensors";
constexpr JsonLimits kLimits{.max_bytes = size_t{16} << 20, .max_depth = 16};
}  // namespace

Result<LoraSet> read_peft(const std::string& folder, std::span<const LoraLayer> layers,
                          at::ScalarType dtype) {
  const std::string config_path = folder + kConfig;
  ASSIGN_OR_RETURN(const nlohmann::json json, read_json(config_path, kLimits));
  const auto config = LoraConfig::from_json(json);
  if (!config.ok()) return config.status().with_context(config_path);
  const std::string path = folder + kWeights;
  ASSIGN_OR_RETURN(const SafetensorsFile file, SafetensorsFile::open(path));
  LoraSet::Parameters stored;
  for (const SafetensorsEntry& entry : file.header().entries) {
    const auto type = scalar_type(entry.type);
    if (!type || !at::isFloatingType(*type)) {
      return invalid_argument("{}: tensor '{}' is of type {}, not floating point", path, entry.name,
                              name(entry.type));
    }
    ASSIGN_OR_RETURN(at::Tensor tensor, file.read(entry, dtype));
    stored.push_back({entry.name, std::move(tensor)});
  }
  auto lora = LoraSet::from_tensors(*config, layers, stored, dtype);
  if (!lora.ok()) return lora.status().with_context(folder);
  return lora;
}

Status write_peft(const std::string& folder, const LoraSet& lora) {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem) return errno_status(problem.value(), "cannot make folder '" + folder + "'");
  std::vector<std::pair<std::string, at::Tensor>> tensors;
  for (const LoraSet::Parameter& p : lora.parameters()) {
    tensors.emplace_back(p.name, p.tensor.detach());
  }
  RETURN_IF_ERROR(write_safetensors(folder + kWeights, tensors));
  return write_file_atomic(folder + kConfig, lora.config().to_json().dump(2) + "\n");
}

}  // namespace sluice
