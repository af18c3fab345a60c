#pragma once
#include "inference/sampler/constraint/byte_nfa.h"
#include "models/tokenizer/json_doc.h"

#include <cstdint>
#include <limits>
#include <string_view>

namespace sluice {

/// The parts of JSON, added to an automaton; each returns the state behind.
namespace json_grammar {

using State = ByteNfa::State;

/// Written as it stands in a JSON string: escaped only where it must be.
State character(ByteNfa& nfa, State from, const CodePoints& set);
/// Any character of a string, escaped or not; no surrogates.
State free_character(ByteNfa& nfa, State from);
/// A string of least to most characters; most kEndless: any number.
constexpr int64_t kEndless = std::numeric_limits<int64_t>::max();
State string(ByteNfa& nfa, State from, int64_t least, int64_t most);

/// Up to 18 digits.
State integer(ByteNfa& nfa, State from);
/// least <= most, both within 18 digits.
State integer_between(ByteNfa& nfa, State from, int64_t least, int64_t most);
constexpr int64_t kLargestInteger = 999'999'999'999'999'999;
State number(ByteNfa& nfa, State from);

/// One text or the other.
State either(ByteNfa& nfa, State from, std::string_view a, std::string_view b);
/// "," or ":" and the space that may follow.
State separator(ByteNfa& nfa, State from, char mark);
/// A value as it is.
State literal(ByteNfa& nfa, State from, JsonDoc::Value value);
/// A text as a JSON string.
[[nodiscard]] std::string quoted_json(std::string_view text);

/// Any value, nested up to `depth`.
State free_value(ByteNfa& nfa, State from, int depth);

}  // namespace json_grammar
}  // namespace sluice
