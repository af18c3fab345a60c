#include "envs/text/sokoban.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace sluice {
namespace {

using testing::HasSubstr;

SokobanLevel level_from(const std::string& text) {
  SokobanLevel level;
  std::string flat;
  for (const char c : text) {
    if (c != '\n') flat += c;
  }
  level.side = static_cast<int>(text.find('\n'));
  for (size_t i = 0; i < flat.size(); ++i) {
    level.walls[i] = flat[i] == '#';
    level.boxes[i] = flat[i] == 'X' || flat[i] == '*';
    level.targets[i] = flat[i] == 'O' || flat[i] == '*' || flat[i] == 'S';
    if (flat[i] == 'P' || flat[i] == 'S') level.player = static_cast<int>(i);
  }
  return level;
}

std::string answer(std::string_view moves) {
  std::string out = "<answer>";
  for (const char move : moves) {
    out += move == 'U' ? "Up || " : move == 'D' ? "down, " : move == 'L' ? "LEFT " : "Right\n";
  }
  return out + "</answer>";
}

TEST(SokobanLevel, PushesOneBoxAndNoWall) {
  auto level = level_from("######\n#PXXO#\n#____#\n#X___#\n#O___#\n######");
  EXPECT_FALSE(level.move('R'));  // two in a row
  EXPECT_FALSE(level.move('U'));
  EXPECT_FALSE(level.move('x'));
  EXPECT_TRUE(level.move('D'));
  EXPECT_TRUE(level.move('D'));  // onto the target, under the player
  EXPECT_EQ(level.text(), "######\n#_XXO#\n#____#\n#P___#\n#*___#\n######");
  EXPECT_FALSE(level.move('D'));  // a wall behind the box
  EXPECT_EQ(level_from(level.text()), level);
}

TEST(DrawSokoban, EveryLevelIsSolvedByItsSolution) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Draws draws((RandomKey(seed)));
    const auto drawn = draw_sokoban(draws, seed % 2 == 0 ? 6 : 8, seed % 2 == 0 ? 2 : 3, 40);
    SokobanLevel level = drawn.level;
    EXPECT_FALSE(level.solved());
    EXPECT_TRUE((level.boxes & level.targets).none());
    EXPECT_EQ(level.boxes.count(), level.targets.count());
    for (const char move : drawn.solution) EXPECT_TRUE(level.move(move));
    EXPECT_TRUE(level.solved()) << drawn.level.text() << "\n" << drawn.solution;
  }
}

TEST(Sokoban, TheSolutionEndsTheEpisodeWithRewardOne) {
  for (const int64_t difficulty : {1, 2}) {
    SokobanEnv env(3, difficulty);
    for (int64_t i = 0; i < 20; ++i) {
      const auto first = env.reset(Split::Train, i);
      ASSERT_TRUE(first.ok());
      EXPECT_THAT(first->back().content, HasSubstr("######"));
      const auto step = env.step("I think so: " + answer(env.solution()));
      ASSERT_TRUE(step.ok());
      EXPECT_EQ(step->reward, 1);
      EXPECT_TRUE(step->terminated);
      EXPECT_FALSE(step->truncated);
      EXPECT_EQ(env.step("").status().code(), Code::FailedPrecondition);
    }
  }
}

TEST(Sokoban, TellsWhatItDidNotUnderstandAndEndsAfterFourTurns) {
  SokobanEnv env(1, 2);
  EXPECT_EQ(env.step("").status().code(), Code::FailedPrecondition);
  ASSERT_TRUE(env.reset(Split::Train, 0).ok());
  EXPECT_THAT(env.step("up")->observation, HasSubstr("no <answer></answer> tags"));
  EXPECT_THAT(env.step("<answer>jump up</answer>")->observation,
              HasSubstr("'jump' is no move; 0 moves were done."));
  EXPECT_THAT(env.step("<answer></answer>")->observation, HasSubstr("1 turns are left"));
  const auto last = env.step("<answer></answer>");
  EXPECT_TRUE(last->truncated);
  EXPECT_EQ(last->reward, 0);
  EXPECT_FALSE(env.step("").ok());
}

TEST(Sokoban, ATurnHasTwentyFiveMoves) {
  SokobanEnv env(1, 2);
  for (int64_t i = 0; i < 50; ++i) {
    ASSERT_TRUE(env.reset(Split::Train, i).ok());
    std::string moves;
    for (int k = 0; k < 13; ++k) moves += "UD";
    const auto all = env.step(answer(moves))->observation;
    ASSERT_TRUE(env.reset(Split::Train, i).ok());
    const auto most = env.step(answer(moves.substr(0, 25)))->observation;
    EXPECT_EQ(all, most);
  }
}

TEST(Sokoban, HeldOutLevelsAreNeverTrainedOn) {
  SokobanEnv env(5, 1);
  std::set<std::string> held_out;
  for (int64_t i = 0; i < 200; ++i) held_out.insert(env.reset(Split::Eval, i)->back().content);
  EXPECT_GT(held_out.size(), 150U);
  for (int64_t i = 0; i < 200; ++i) {
    EXPECT_FALSE(held_out.contains(env.reset(Split::Train, i)->back().content));
  }
  EXPECT_EQ(env.reset(Split::Eval, 200).status().code(), Code::OutOfRange);
}

TEST(TextEnvRegistry, NamesTheNearest) {
  EXPECT_THAT(make_text_env("socoban").status().message(), HasSubstr("did you mean 'sokoban'?"));
  EXPECT_TRUE(make_text_env("sokoban").ok());
  TextTaskOptions options;
  options.difficulty = 9;
  EXPECT_THAT(make_text_env("sokoban", options).status().message(), HasSubstr("difficulty is 9"));
}

}  // namespace
}  // namespace sluice
