#include "envs/text/answer.h"

#include "dataflow/base/nearest.h"
#include "envs/text/number.h"

#include <array>

namespace sluice {
namespace {

constexpr std::array<std::string_view, 6> kForms = {"last_number", "boxed", "tags",
                                                    "gsm8k",       "whole", "any"};

// The inside of the brace that opens at `at`, or nothing when it never closes.
std::optional<std::string_view> in_braces(std::string_view text, size_t at) {
  int depth = 0;
  for (size_t i = at; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '{') {
      ++depth;
    } else if (text[i] == '}' && --depth == 0) {
      return text.substr(at + 1, i - at - 1);
    }
  }
  return std::nullopt;
}

std::optional<std::string> found(std::string_view text) { return std::string(trimmed(text)); }

}  // namespace

std::string_view name(AnswerForm form) noexcept { return kForms[static_cast<size_t>(form)]; }

Result<AnswerForm> answer_form(std::string_view name) {
  std::vector<std::string> known;
  for (size_t i = 0; i < kForms.size(); ++i) {
    if (kForms[i] == name) return static_cast<AnswerForm>(i);
    known.emplace_back(kForms[i]);
  }
  return error(Code::NotFound, "unknown form of answer '{}'{} Known: {}", name,
               known.empty() ? "." : did_you_mean(name, known), fmt::join(known, ", "));
}

std::string_view trimmed(std::string_view text) noexcept {
  constexpr std::string_view kSpace = " \t\r\n\f\v";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::optional<std::string> boxed_answer(std::string_view text) {
  // From the back, and never over the same bytes twice: what an unclosed box has looked at is cut
  // off before the box in front of it is tried.
  size_t end = text.size();
  size_t command = text.rfind('\\');
  while (command != std::string_view::npos) {
    const std::string_view rest = text.substr(command, end - command);
    size_t at = rest.starts_with("\\boxed") ? 6 : rest.starts_with("\\fbox") ? 5 : 0;
    if (at > 0) {
      const size_t name_end = at;
      while (at < rest.size() && rest[at] == ' ') ++at;
      if (at < rest.size() && rest[at] == '{') {
        if (const auto inside = in_braces(rest, at)) return found(*inside);
      } else if (at > name_end && at < rest.size()) {  // "\boxed 5"
        return found(rest.substr(at, rest.find_first_of(" \n\t$", at) - at));
      }
      end = command;
    }
    command = command == 0 ? std::string_view::npos : text.rfind('\\', command - 1);
  }
  return std::nullopt;
}

std::optional<std::string> tagged_answer(std::string_view text, std::string_view tag) {
  const std::string open = fmt::format("<{}>", tag);
  const std::string close = fmt::format("</{}>", tag);
  const size_t end = text.rfind(close);
  if (end == std::string_view::npos) return std::nullopt;
  const size_t begin = text.substr(0, end).rfind(open);
  if (begin == std::string_view::npos) return std::nullopt;
  return found(text.substr(begin + open.size(), end - begin - open.size()));
}

std::optional<std::string> gsm8k_answer(std::string_view text) {
  const size_t mark = text.rfind("####");
  if (mark == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(mark + 4);
  const std::string_view line = trimmed(rest.substr(0, rest.find('\n')));
  if (line.empty()) return std::nullopt;
  return found(line);
}

std::optional<std::string> extract_answer(std::string_view text, AnswerForm form) {
  switch (form) {
    case AnswerForm::LastNumber: {
      const std::string_view number = last_number(text);
      return number.empty() ? std::nullopt : found(number);
    }
    case AnswerForm::Boxed:
      return boxed_answer(text);
    case AnswerForm::Tags:
      return tagged_answer(text);
    case AnswerForm::Gsm8k:
      return gsm8k_answer(text);
    case AnswerForm::Whole:
      return found(text);
    case AnswerForm::Any:
      break;
  }
  for (const AnswerForm each :
       {AnswerForm::Boxed, AnswerForm::Tags, AnswerForm::Gsm8k, AnswerForm::LastNumber}) {
    if (auto answer = extract_answer(text, each)) return answer;
  }
  return std::nullopt;
}

}  // namespace sluice
