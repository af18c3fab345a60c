#include "envs/text/simple_tasks.h"

#include "envs/text/answer.h"
#include "envs/text/number.h"
#include "envs/text/words.h"

#include <algorithm>

namespace sluice {
namespace {

// A decimal of `places` places, as text and in units of its last place out of four.
struct Decimal {
  std::string text;
  int64_t value = 0;
};

Decimal draw_decimal(Draws& draws, int64_t whole_below, int64_t places) {
  int64_t scale = 1;
  for (int64_t i = 0; i < places; ++i) scale *= 10;
  const int64_t whole = draws.below(whole_below);
  const int64_t part = places == 0 ? 0 : draws.between(1, scale - 1);
  Decimal out;
  out.value = (whole * scale + part) * (10000 / scale);
  out.text = places == 0 ? fmt::format("{}", whole) : fmt::format("{}.{:0{}}", whole, part, places);
  return out;
}

std::string upper(std::string text) {
  for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return text;
}

std::string without_spaces(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' && c != '\n' && c != '\t') out += c;
  }
  return out;
}

}  // namespace

TextProblem ComparisonTask::draw(Draws& draws) const {
  Decimal a;
  Decimal b;
  while (a.value == b.value) {
    switch (difficulty()) {
      case 1:
        a = draw_decimal(draws, 100, 0);
        b = draw_decimal(draws, 100, 0);
        break;
      case 2:
        a = draw_decimal(draws, 10000, 0);
        b = draw_decimal(draws, 10000, 0);
        break;
      // The same whole part: what makes 9.11 against 9.9 hard.
      case 3:
      default: {
        const int64_t most = difficulty() == 3 ? 2 : 4;
        const int64_t whole = draws.below(100);
        a = draw_decimal(draws, 1, draws.between(1, most));
        b = draw_decimal(draws, 1, draws.between(1, most));
        a.text.replace(0, 1, fmt::format("{}", whole));
        b.text.replace(0, 1, fmt::format("{}", whole));
        break;
      }
    }
  }
  return asked(fmt::format("Which number is larger, {} or {}?", a.text, b.text),
               canonical_decimal(a.value > b.value ? a.text : b.text).value_or(""));
}

TextProblem DigitCountTask::draw(Draws& draws) const {
  std::string digits;
  const int64_t length = 3 * difficulty();
  while (static_cast<int64_t>(digits.size()) < length) {
    digits += static_cast<char>('0' + (digits.empty() ? draws.between(1, 9) : draws.below(10)));
  }
  // Half the time a digit that is there.
  const char digit = draws.coin() ? digits[static_cast<size_t>(draws.below(length))]
                                  : static_cast<char>('0' + draws.below(10));
  return asked(fmt::format("How many times does the digit {} occur in {}?", digit, digits),
               fmt::format("{}", std::count(digits.begin(), digits.end(), digit)));
}

TextProblem LetterCountTask::draw(Draws& draws) const {
  const std::string text = fmt::format("{}", fmt::join(draw_words(draws, difficulty()), " "));
  char letter = ' ';
  while (letter == ' ')
    letter = text[static_cast<size_t>(draws.below(static_cast<int64_t>(text.size())))];
  if (draws.below(4) == 0) letter = static_cast<char>('a' + draws.below(26));
  return asked(fmt::format("How many times does the letter '{}' occur in '{}'?", letter, text),
               fmt::format("{}", std::count(text.begin(), text.end(), letter)));
}

StringTask::StringTask(Kind kind, const TextTaskOptions& options)
    : GeneratedTask(kind == Kind::Reverse ? "string_reverse"
                    : kind == Kind::Sort  ? "string_sort"
                                          : "string_upper",
                    options),
      kind_(kind) {}

TextProblem StringTask::draw(Draws& draws) const {
  constexpr std::string_view kHow = " Write only the result in <answer></answer> tags.";
  if (kind_ == Kind::Reverse) {
    std::string text;
    while (static_cast<int64_t>(text.size()) < 2 + 2 * difficulty()) {
      text += static_cast<char>('a' + draws.below(26));
    }
    return asked(fmt::format("Reverse the string '{}'.{}", text, kHow),
                 std::string(text.rbegin(), text.rend()));
  }
  std::vector<std::string> words = draw_words(draws, 2 + difficulty());
  const std::string shown = fmt::format("{}", fmt::join(words, ", "));
  if (kind_ == Kind::Upper) {
    return asked(fmt::format("Write in upper case: {}.{}", shown, kHow), upper(shown));
  }
  std::sort(words.begin(), words.end());
  return asked(fmt::format("Sort these words alphabetically: {}.{}", shown, kHow),
               fmt::format("{}", fmt::join(words, ", ")));
}

TextScore StringTask::score(const TextProblem& problem, std::string_view response) const {
  const auto answer = tagged_answer(response);
  return right_or_wrong(answer && without_spaces(*answer) == without_spaces(problem.answer));
}

}  // namespace sluice
