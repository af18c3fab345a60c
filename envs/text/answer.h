#pragma once
#include "dataflow/base/result.h"

#include <optional>
#include <string>
#include <string_view>

namespace sluice {

/// Where in a response the final answer stands.
enum class AnswerForm : uint8_t {
  LastNumber,  ///< the last number anywhere (last_number)
  Boxed,       ///< LaTeX's \boxed{..} or \fbox{..}; the last one counts
  Tags,        ///< <answer>..</answer>; the last one counts
  Gsm8k,       ///< the rest of the line behind the last "####"
  Whole,       ///< the whole response
  Any,         ///< the first of Boxed, Tags, Gsm8k, LastNumber that is there
};
std::string_view name(AnswerForm form) noexcept;
/// By name: "last_number", "boxed", "tags", "gsm8k", "whole", "any". NotFound names the nearest.
Result<AnswerForm> answer_form(std::string_view name);

/// The inside of the last \boxed{..} whose braces close; braces may be nested and escaped ones do
/// not count. "\boxed 5" has the inside "5".
[[nodiscard]] std::optional<std::string> boxed_answer(std::string_view text);
/// The inside of the last <tag>..</tag> that closes, without space around it.
[[nodiscard]] std::optional<std::string> tagged_answer(std::string_view text,
                                                       std::string_view tag = "answer");
/// The rest of the line behind the last "####", without space around it.
[[nodiscard]] std::optional<std::string> gsm8k_answer(std::string_view text);

/// The answer in the given form, without space around it; nothing when there is none. Linear in the
/// length of the text.
[[nodiscard]] std::optional<std::string> extract_answer(std::string_view text, AnswerForm form);

/// Text without white space at both ends.
[[nodiscard]] std::string_view trimmed(std::string_view text) noexcept;

}  // namespace sluice
