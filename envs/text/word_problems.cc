#include "envs/text/word_problems.h"

#include "envs/text/answer.h"
#include "envs/text/number.h"

namespace sluice {
namespace {

constexpr const char* kPeople[] = {"Maya", "Noah", "Priya", "Omar", "Lena", "Theo", "Rosa", "Yuki"};
constexpr const char* kThings[] = {"apples",  "marbles", "stickers", "books",
                                   "pencils", "shells",  "cookies",  "coins"};
constexpr const char* kFriends[] = {"a friend", "a neighbor", "a cousin", "the school"};

// A story under way: how many there are, what was told and how it is worked out.
struct Story {
  int64_t count = 0;
  std::string text;
  std::string solution;

  void step(char sign, int64_t by, int64_t result, const std::string& sentence,
            std::string_view then) {
    text += " " + sentence;
    solution += fmt::format("{} {} {} {} = <<{}{}{}={}>>{}.\n", then, count, sign, by, count, sign,
                            by, result, result);
    count = result;
  }
};

void tell_one(Draws& draws, Story& story, const std::string& who, const std::string& things) {
  while (true) {
    switch (draws.below(4)) {
      case 0: {
        const int64_t more = draws.between(2, 30);
        story.step('+', more, story.count + more,
                   fmt::format("Then {} buys {} more {}.", who, more, things), "After buying:");
        return;
      }
      case 1: {
        if (story.count < 4) break;
        const int64_t away = draws.between(1, story.count - 2);
        story.step(
            '-', away, story.count - away,
            fmt::format("{} gives {} of the {} to {}.", who, away, things, draws.pick(kFriends)),
            "After giving:");
        return;
      }
      case 2: {
        if (story.count > 200) break;
        const int64_t times = draws.between(2, 4);
        story.step(
            '*', times, story.count * times,
            fmt::format("By the end of the week {} has {} times as many {}.", who, times, things),
            "After the week:");
        return;
      }
      default: {
        const int64_t boxes = draws.between(2, 5);
        if (story.count % boxes != 0 || story.count / boxes < 2) break;
        story.step(
            '/', boxes, story.count / boxes,
            fmt::format("{} shares all the {} equally among {} boxes and keeps only one box.", who,
                        things, boxes),
            "In one box:");
        return;
      }
    }
  }
}

}  // namespace

TextProblem WordProblemsTask::draw(Draws& draws) const {
  const std::string who = draws.pick(kPeople);
  const std::string things = draws.pick(kThings);
  Story story;
  story.count = draws.between(3, 40);
  story.text = fmt::format("{} has {} {}.", who, story.count, things);
  for (int64_t i = 0; i < difficulty(); ++i) tell_one(draws, story, who, things);
  // The last step is a price or one more of the same.
  if (draws.coin()) {
    const int64_t price = draws.between(2, 9);
    story.step(
        '*', price, story.count * price,
        fmt::format("{} sells each for {} dollars. How many dollars does {} get?", who, price, who),
        "In dollars:");
  } else {
    tell_one(draws, story, who, things);
    story.text += fmt::format(" How many {} does {} have now?", things, who);
  }
  TextProblem out = asked(story.text + " Think step by step and end with \"#### \" and the number.",
                          fmt::format("{}", story.count));
  out.fields["solution"] = fmt::format("{}#### {}", story.solution, story.count);
  return out;
}

TextScore WordProblemsTask::score(const TextProblem& problem, std::string_view response) const {
  const auto number_in = [](const std::optional<std::string>& answer) {
    return answer ? canonical_decimal(last_number(*answer)) : std::nullopt;
  };
  const bool format = number_in(gsm8k_answer(response)).has_value();
  const bool correct = number_in(extract_answer(response, AnswerForm::Any)) == problem.answer;
  return weighted_sum({{"correct", correct ? 1.0 : 0.0, 0.9}, {"format", format ? 1.0 : 0.0, 0.1}});
}

}  // namespace sluice
