#pragma once
#include "inference/engine/engine.h"

#include <memory>
#include <string_view>

namespace sluice {

/// What a drafter guesses for.
struct DraftTarget {
  const Transformer* model = nullptr;
  const Tokenizer* tokenizer = nullptr;  ///< null: not compared with a draft model's
  int64_t vocabulary = 0;                ///< ids that the engine draws from
  LinearFactory linear;                  ///< for a draft model, as for the engine; may be null
};

/// The drafter that `text` names: "ngram", "suffix" (earlier outputs, then n-grams), "jacobi",
/// "draft=MODEL" (a folder, a .gguf file or the name of a fetched model, with the same tokenizer)
/// or "heads=FILE" (see HeadsDrafter).
Result<std::shared_ptr<Drafter>> make_drafter(std::string_view text, const DraftTarget& target);

}  // namespace sluice
