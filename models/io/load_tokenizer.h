#pragma once
#include "dataflow/base/result.h"

#include <memory>
#include <string>

namespace sluice {

class Tokenizer;

/// The tokenizer of a model: a folder, a .gguf file, the name of a fetched model, or a
/// tokenizer.json itself. Errors are one line that names file and key.
Result<std::unique_ptr<Tokenizer>> load_tokenizer(const std::string& model);

}  // namespace sluice
