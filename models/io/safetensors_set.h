#pragma once
#include "models/io/safetensors.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace sluice {

/// The weights of a folder: model.safetensors, or the shards that model.safetensors.index.json
/// lists. Any thread.
class SafetensorsSet {
 public:
  struct Place {
    const SafetensorsFile* file = nullptr;
    const SafetensorsEntry* entry = nullptr;
  };

  /// A missing shard, a shard without a tensor that the index puts there, and a name that leaves
  /// the folder are errors that name both.
  static Result<SafetensorsSet> open(const std::string& folder);

  /// By name.
  [[nodiscard]] const std::map<std::string, Place>& tensors() const noexcept { return tensors_; }
  [[nodiscard]] size_t files() const noexcept { return files_.size(); }

 private:
  Status add_single(const std::string& path);
  Status add_shards(const std::string& folder, const std::string& index);

  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::map<std::string, Place> tensors_;
};

}  // namespace sluice
