#pragma once
#include "dataflow/base/result.h"
#include "inference/sampler/constraint/byte_nfa.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

namespace sluice {

/// A regular expression, read. Characters are Unicode; \d, \w and \s are ASCII's, as in ECMA-262
/// without flags (but for \s, which there holds a few more).
struct RegexNode {
  enum class Kind : uint8_t { Empty, Character, Sequence, Choice, Repeat };
  static constexpr int32_t kEndless = -1;

  Kind kind = Kind::Empty;
  CodePoints set{};                                    ///< of a Character
  std::vector<std::unique_ptr<RegexNode>> children{};  ///< one of a Repeat
  int32_t least = 0;                                   ///< of a Repeat
  int32_t most = 0;                                    ///< or kEndless
};

/// Bounds of what is read.
struct RegexLimits {
  static constexpr size_t kMaxBytes = 16'384;
  static constexpr int32_t kMaxRepeat = 10'000;
  static constexpr int kMaxDepth = 64;
};

/// Where a match lies. Whole: the text is the match; ^ and $ at the ends of an alternative say
/// nothing. Anywhere: the match lies in the text (JSON Schema's pattern), unless they do.
enum class RegexMatch : uint8_t { Whole, Anywhere };

/// InvalidArgument with the position, for what is malformed and for what is not supported, by its
/// name: look-around, back-references, \b, \p, flags, ^ or $ inside.
Result<std::unique_ptr<RegexNode>> parse_regex(std::string_view pattern, RegexMatch match);

/// Adds one character of a set behind a state.
using AddCharacter = std::function<ByteNfa::State(ByteNfa&, ByteNfa::State, const CodePoints&)>;

/// Adds what the expression matches; see ByteNfa.
ByteNfa::State add_regex(ByteNfa& nfa, ByteNfa::State from, const RegexNode& node,
                         const AddCharacter& add);

}  // namespace sluice
