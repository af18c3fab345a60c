#pragma once
#include "models/tokenizer/decoder.h"

#include <functional>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

/// Makes a stage for one text.
using MakeDecoderStage = std::function<std::unique_ptr<DecoderStage>()>;
/// Reads one decoder's settings.
using ReadDecoder = Result<MakeDecoderStage> (*)(const JsonFields& fields);

/// All types but Sequence.
[[nodiscard]] const std::vector<std::pair<std::string_view, ReadDecoder>>& decoder_types();

/// What happens where a file names no decoder: tokens with spaces between.
[[nodiscard]] std::unique_ptr<DecoderStage> join_with_spaces();

}  // namespace sluice
