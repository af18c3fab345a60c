#pragma once
#include "models/tokenizer/tokenizer.h"

#include <memory>
#include <string>
#include <vector>

namespace sluice {

/// For tests: a byte-level tokenizer whose token b is byte b, followed by the given pieces of text
/// (from 256 on; none twice, none of one byte) and one special token "<|end|>" as the last.
[[nodiscard]] std::unique_ptr<Tokenizer> byte_tokenizer(
    const std::vector<std::string>& pieces = {});

}  // namespace sluice
