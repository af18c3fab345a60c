#include "models/tokenizer/word_scanner.h"

namespace sluice {

const char* const kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

std::optional<KnownSplit> known_pattern(std::string_view pattern) {
  if (pattern == kGpt2Pattern) return KnownSplit::Gpt2;
  if (pattern ==
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)") {
    return KnownSplit::Llama3;
  }
  if (pattern ==
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)") {
    return KnownSplit::Qwen2;
  }
  return std::nullopt;
}

}  // namespace sluice
