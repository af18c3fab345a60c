#include "models/io/load_tokenizer.h"

#include "models/io/checkpoint.h"
#include "models/io/model_cache.h"
#include "models/tokenizer/tokenizer.h"

#include <nlohmann/json.hpp>

#include <filesystem>

namespace sluice {

Result<std::unique_ptr<Tokenizer>> load_tokenizer(const std::string& model) {
  ASSIGN_OR_RETURN(const std::string path, resolve_model(model));
  std::error_code failed;
  // The file itself where there is one: its text still shows what a parsed document hides, such as
  // a key that stands twice.
  if (path.ends_with(".json") || std::filesystem::exists(path + "/tokenizer.json", failed)) {
    return Tokenizer::load(path);
  }
  ASSIGN_OR_RETURN(const auto checkpoint, Checkpoint::open(path));
  ASSIGN_OR_RETURN(const nlohmann::json json, checkpoint->tokenizer_json());
  return Tokenizer::from_json(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
                              path);
}

}  // namespace sluice
