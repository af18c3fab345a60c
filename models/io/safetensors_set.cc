#include "models/io/safetensors_set.h"

#include "models/io/json_text.h"

#include <nlohmann/json.hpp>

#include <filesystem>

namespace sluice {

using nlohmann::json;

Status SafetensorsSet::add_single(const std::string& path) {
  ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::open(path));
  files_.push_back(std::make_unique<SafetensorsFile>(std::move(file)));
  for (const auto& entry : files_.back()->header().entries) {
    tensors_[entry.name] = {files_.back().get(), &entry};
  }
  return {};
}

Status SafetensorsSet::add_shards(const std::string& folder, const std::string& index) {
  ASSIGN_OR_RETURN(const json content, read_json(index));
  const auto map = content.find("weight_map");
  if (!content.is_object() || map == content.end() || !map->is_object()) {
    return invalid_argument("{}: weight_map is not an object", index);
  }
  struct Shard {
    const SafetensorsFile* file = nullptr;
    std::map<std::string_view, const SafetensorsEntry*> entries;
  };
  std::map<std::string, Shard> shards;
  for (const auto& [name, value] : map->items()) {
    if (!value.is_string()) return invalid_argument("{}: '{}' is not a file's name", index, name);
    const auto& file_name = value.get_ref<const std::string&>();
    if (file_name.empty() || file_name.find('/') != std::string::npos || file_name == "..") {
      return invalid_argument("{}: '{}' of tensor '{}' is not a file in this folder", index,
                              file_name, name);
    }
    Shard& shard = shards[file_name];
    if (shard.file == nullptr) {
      auto file = SafetensorsFile::open(folder + "/" + file_name);
      if (!file.ok() && file.status().code() == Code::NotFound) {
        return error(Code::NotFound, "{}: shard '{}' of tensor '{}' is missing", index, file_name,
                     name);
      }
      if (!file.ok()) return file.status();
      files_.push_back(std::make_unique<SafetensorsFile>(*std::move(file)));
      shard.file = files_.back().get();
      for (const auto& entry : shard.file->header().entries) shard.entries[entry.name] = &entry;
    }
    const auto entry = shard.entries.find(name);
    if (entry == shard.entries.end()) {
      return invalid_argument("{}: shard '{}' does not hold tensor '{}'", index, file_name, name);
    }
    tensors_[name] = {shard.file, entry->second};
  }
  return {};
}

Result<SafetensorsSet> SafetensorsSet::open(const std::string& folder) {
  namespace fs = std::filesystem;
  SafetensorsSet out;
  std::error_code ignored;
  const std::string index = folder + "/model.safetensors.index.json";
  const std::string single = folder + "/model.safetensors";
  if (fs::exists(single, ignored)) {
    RETURN_IF_ERROR(out.add_single(single));
  } else if (fs::exists(index, ignored)) {
    RETURN_IF_ERROR(out.add_shards(folder, index));
  } else {
    const bool pickled = fs::exists(folder + "/pytorch_model.bin", ignored);
    return error(Code::NotFound,
                 "{}: neither model.safetensors nor model.safetensors.index.json is there{}",
                 folder, pickled ? " (pytorch_model.bin is not read: it can run code)" : "");
  }
  return out;
}

}  // namespace sluice
