#pragma once
#include "models/tokenizer/pre_tokenizer.h"

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

/// A stage, and what it is when that matters for recognising known combinations.
struct StagePlan {
  enum class Kind : uint8_t { Other, EachDigit, PrefixSpace, KnownPattern, SpellBytes };
  std::unique_ptr<PreTokenizerStage> stage;
  Kind kind = Kind::Other;
  KnownSplit pattern = KnownSplit::Gpt2;  ///< of a KnownPattern
};

/// Appends the stages that one pre-tokenizer stands for.
using MakeStages = Status (*)(const JsonFields& fields, std::vector<StagePlan>& plan);

/// All types but Sequence.
[[nodiscard]] const std::vector<std::pair<std::string_view, MakeStages>>& pre_tokenizer_types();

}  // namespace sluice
