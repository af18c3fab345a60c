#include "envs/text/countdown.h"

#include "envs/text/answer.h"

#include <algorithm>
#include <charconv>
#include <numeric>

namespace sluice {
namespace {

constexpr size_t kMaxBytes = 200;
constexpr std::pair<std::string_view, char> kPrintSigns[] = {
    {"\xC3\x97", '*'}, {"\xC3\xB7", '/'}, {"\xE2\x88\x92", '-'}, {"\xC2\xB7", '*'}};

struct Fraction {
  int64_t above = 0;
  int64_t below = 1;
};

class CountdownParser {
 public:
  explicit CountdownParser(std::string text) : text_(std::move(text)) {}

  Result<CountdownValue> run() {
    Fraction value = sum();
    skip();
    if (status_.ok() && at_ < text_.size()) unexpected();
    if (!status_.ok()) return status_;
    return CountdownValue{value.above, value.below, std::move(numbers_)};
  }

 private:
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  char peek() {
    skip();
    return status_.ok() && at_ < text_.size() ? text_[at_] : '\0';
  }
  void unexpected() {
    if (!status_.ok()) return;
    status_ = at_ < text_.size()
                  ? invalid_argument("did not expect '{}' at byte {}", text_.substr(at_, 1), at_)
                  : invalid_argument("the expression ends too early");
  }

  Fraction sum() {
    Fraction left = product();
    for (char sign = peek(); sign == '+' || sign == '-'; sign = peek()) {
      ++at_;
      Fraction right = product();
      if (sign == '-') right.above = -right.above;
      left = add(left, right);
    }
    return left;
  }

  Fraction product() {
    Fraction left = atom();
    for (char sign = peek(); sign == '*' || sign == '/'; sign = peek()) {
      ++at_;
      Fraction right = atom();
      if (sign == '/') {
        if (right.above == 0 && status_.ok()) status_ = invalid_argument("division by zero");
        std::swap(right.above, right.below);
        if (right.below < 0) right = {-right.above, -right.below};
      }
      left = multiply(left, right);
    }
    return left;
  }

  // The text is short, and so is the recursion.
  Fraction atom() {
    const char c = peek();
    if (c == '(') {
      ++at_;
      const Fraction inside = sum();
      if (peek() != ')') unexpected();
      ++at_;
      return inside;
    }
    int64_t number = 0;
    const char* begin = text_.data() + at_;
    const auto [end, problem] = std::from_chars(begin, text_.data() + text_.size(), number);
    if (c < '0' || c > '9') {
      unexpected();
    } else if (problem != std::errc()) {
      overflow();
    } else {
      numbers_.push_back(number);
    }
    at_ += static_cast<size_t>(end - begin);
    return {number, 1};
  }

  void overflow() {
    if (status_.ok()) status_ = error(Code::ResourceExhausted, "a number beyond 63 bits");
  }
  Fraction reduced(int64_t above, int64_t below, bool overflowed) {
    if (overflowed || above == INT64_MIN || below <= 0) {
      overflow();
      return {};
    }
    const int64_t common = std::gcd(above, below);
    return {above / common, below / common};
  }
  Fraction add(Fraction a, Fraction b) {
    int64_t left = 0;
    int64_t right = 0;
    int64_t above = 0;
    int64_t below = 0;
    const bool overflowed = __builtin_mul_overflow(a.above, b.below, &left) ||
                            __builtin_mul_overflow(b.above, a.below, &right) ||
                            __builtin_add_overflow(left, right, &above) ||
                            __builtin_mul_overflow(a.below, b.below, &below);
    return reduced(above, below, overflowed);
  }
  Fraction multiply(Fraction a, Fraction b) {
    int64_t above = 0;
    int64_t below = 0;
    const bool overflowed = __builtin_mul_overflow(a.above, b.above, &above) ||
                            __builtin_mul_overflow(a.below, b.below, &below);
    return reduced(above, below, overflowed);
  }

  std::string text_;
  size_t at_ = 0;
  Status status_;
  std::vector<int64_t> numbers_;
};

}  // namespace

Result<CountdownValue> countdown_value(std::string_view expression) {
  if (expression.size() > kMaxBytes) {
    return error(Code::ResourceExhausted, "an expression of {} bytes; at most {} are read",
                 expression.size(), kMaxBytes);
  }
  std::string plain(expression);
  for (const auto& [sign, ascii] : kPrintSigns) {
    for (size_t at = 0; (at = plain.find(sign, at)) != std::string::npos;) {
      plain.replace(at, sign.size(), 1, ascii);
    }
  }
  return CountdownParser(std::move(plain)).run();
}

TextProblem CountdownTask::draw(Draws& draws) const {
  struct Piece {
    int64_t value;
    std::string text;
  };
  while (true) {
    std::vector<Piece> pieces;
    std::vector<int64_t> numbers;
    for (int64_t i = 0; i < 2 + difficulty(); ++i) {
      numbers.push_back(draws.between(1, 99));
      pieces.push_back({numbers.back(), fmt::format("{}", numbers.back())});
    }
    bool whole = true;
    while (whole && pieces.size() > 1) {
      draws.shuffle(pieces);
      const Piece b = std::move(pieces.back());
      pieces.pop_back();
      Piece& a = pieces.back();
      const char sign = draws.pick("+-*/+-*");
      if (sign == '\0' || (sign == '/' && (b.value == 0 || a.value % b.value != 0))) {
        pieces.push_back(b);
        continue;
      }
      a.value = sign == '+'   ? a.value + b.value
                : sign == '-' ? a.value - b.value
                : sign == '*' ? a.value * b.value
                              : a.value / b.value;
      a.text = fmt::format("({} {} {})", a.text, sign, b.text);
      whole = a.value >= 0 && a.value <= 100000;
    }
    const int64_t target = pieces[0].value;
    if (!whole || target < 1 || target > 1000) continue;
    TextProblem out =
        asked(fmt::format(
                  "Using the numbers [{}], create an expression that equals {}. You can use + - * "
                  "/ and brackets, and must use each number exactly once. Write the expression in "
                  "<answer></answer> tags, for example <answer>(1 + 2) / 3</answer>.",
                  fmt::join(numbers, ", "), target),
              fmt::format("{}", target));
    const std::string& solution = pieces[0].text;
    out.fields["numbers"] = fmt::format("{}", fmt::join(numbers, " "));
    out.fields["target"] = out.answer;
    out.fields["solution"] = solution.substr(1, solution.size() - 2);
    return out;
  }
}

TextScore CountdownTask::score(const TextProblem& problem, std::string_view response) const {
  constexpr double kFormat = 0.1;
  std::vector<int64_t> given;
  int64_t target = 0;
  const auto fields = [&problem](const char* name) {
    const auto found = problem.fields.find(name);
    return found == problem.fields.end() ? std::string() : found->second;
  };
  const std::string numbers = fields("numbers");
  for (const char* at = numbers.data(); at < numbers.data() + numbers.size(); ++at) {
    given.push_back(0);
    at = std::from_chars(at, numbers.data() + numbers.size(), given.back()).ptr;
  }
  const std::string wanted = fields("target");
  std::from_chars(wanted.data(), wanted.data() + wanted.size(), target);
  if (given.empty() || wanted.empty()) return failed_score("the problem lacks its numbers");

  bool format = false;
  bool correct = false;
  if (const auto answer = tagged_answer(response)) {
    std::string_view text = *answer;
    if (const size_t equals = text.find('='); equals != std::string_view::npos) {
      if (trimmed(text.substr(equals + 1)) == wanted) text = text.substr(0, equals);
    }
    if (auto value = countdown_value(text); value.ok()) {
      format = true;
      std::sort(value->numbers.begin(), value->numbers.end());
      std::sort(given.begin(), given.end());
      correct = value->above == target && value->below == 1 && value->numbers == given;
    }
  }
  return weighted_sum(
      {{"format", format ? 1.0 : 0.0, kFormat}, {"correct", correct ? 1.0 : 0.0, 1 - kFormat}});
}

}  // namespace sluice
