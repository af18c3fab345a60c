#include "envs/text/sokoban.h"

#include "envs/text/answer.h"
#include "envs/text/generated_task.h"

namespace sluice {
namespace {

constexpr int kTurns = 4;
constexpr int kActionsPerTurn = 25;
constexpr int64_t kEvalLevels = 200;

constexpr std::string_view kRules =
    "You play Sokoban. Push every box onto a target. You can only push, one box at a time, and "
    "never through walls.\n"
    "# wall, _ floor, O target, X box, * box on target, P you, S you on a target.\n"
    "Answer with moves out of Up, Down, Left and Right in tags, for example <answer>Up || "
    "Right</answer>. You have 4 turns of at most 25 moves.\n";

// The moves of an answer as letters, up to the first word that is none; that word in `unknown`.
std::string moves_in(std::string_view answer, std::string& unknown) {
  constexpr std::pair<std::string_view, char> kMoves[] = {
      {"up", 'U'}, {"down", 'D'}, {"left", 'L'}, {"right", 'R'}};
  std::string out;
  size_t at = 0;
  while (static_cast<int>(out.size()) < kActionsPerTurn) {
    at = answer.find_first_not_of(" \t\r\n|,;", at);
    if (at == std::string_view::npos) break;
    const size_t end = std::min(answer.find_first_of(" \t\r\n|,;", at), answer.size());
    std::string word(answer.substr(at, end - at));
    for (char& c : word) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    char move = '\0';
    for (const auto& [known, letter] : kMoves) {
      if (word == known) move = letter;
    }
    if (move == '\0') {
      unknown = word.substr(0, 20);
      break;
    }
    out += move;
    at = end;
  }
  return out;
}

}  // namespace

Result<std::unique_ptr<TextEnv>> SokobanEnv::make(const TextTaskOptions& options) {
  RETURN_IF_ERROR(check_difficulty(options, 3));
  return std::unique_ptr<TextEnv>(std::make_unique<SokobanEnv>(options.seed, options.difficulty));
}

SokobanEnv::SokobanEnv(uint64_t seed, int64_t difficulty)
    : key_(RandomKey(seed).split("sokoban").split(static_cast<uint64_t>(difficulty))),
      difficulty_(difficulty) {}

int64_t SokobanEnv::size(Split split) const noexcept {
  return split == Split::Eval ? kEvalLevels : -1;
}

Result<std::vector<ChatTurn>> SokobanEnv::reset(Split split, int64_t index) {
  if (index < 0 || (split == Split::Eval && index >= kEvalLevels)) {
    return error(Code::OutOfRange, "sokoban has {} eval levels; there is no {} level {}",
                 kEvalLevels, sluice::name(split), index);
  }
  const RandomKey stream = key_.split(sluice::name(split)).split(static_cast<uint64_t>(index));
  for (uint64_t tries = 0;; ++tries) {
    Draws draws(stream.split(tries));
    start_ = difficulty_ == 1   ? draw_sokoban(draws, 6, 1, 10)
             : difficulty_ == 2 ? draw_sokoban(draws, 6, 2, 20)
                                : draw_sokoban(draws, 8, 3, 60);
    // The board decides the split, as the question does for generated tasks.
    const bool held_out = key_.split("held out").split(start_.level.text()).word(0) % 8 == 0;
    if (held_out == (split == Split::Eval)) break;
  }
  level_ = start_.level;
  turns_ = 0;
  running_ = true;
  return std::vector<ChatTurn>{{"user", fmt::format("{}\n{}", kRules, level_.text())}};
}

Result<TextStep> SokobanEnv::step(std::string_view response) {
  if (!running_) return error(Code::FailedPrecondition, "sokoban: no episode; call reset() first");
  ++turns_;
  TextStep out;
  std::string unknown;
  const auto answer = tagged_answer(response);
  const std::string moves = moves_in(answer.value_or(""), unknown);
  int done = 0;
  for (const char move : moves) {
    ++done;
    level_.move(move);
    if (level_.solved()) break;
  }
  if (!answer) {
    out.observation = "There were no <answer></answer> tags in your turn, so nothing moved.\n";
  } else if (!unknown.empty()) {
    out.observation = fmt::format("'{}' is no move; {} moves were done.\n", unknown, done);
  }
  out.terminated = level_.solved();
  out.truncated = !out.terminated && turns_ >= kTurns;
  out.reward = out.terminated ? 1 : 0;
  out.observation += level_.text();
  out.observation += out.terminated  ? "\nSolved."
                     : out.truncated ? "\nNo turns are left."
                                     : fmt::format("\n{} turns are left.", kTurns - turns_);
  running_ = !out.terminated && !out.truncated;
  return out;
}

}  // namespace sluice
