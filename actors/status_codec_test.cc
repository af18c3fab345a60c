#include "actors/status_codec.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(StatusCodec, GivesBackWhatWasPutIn) {
  const std::vector<LoopStatus> loops = {
      {"rollout/0+policy/0", LoopState::Restarting, 3, 1, 1LL << 60, 0.25, "boom \"x\"\n[]"},
      {"trainer/0", LoopState::Running, 0, 0, 0, 0, ""}};
  const auto back = decode_status(encode_status(loops));
  ASSERT_TRUE(back.ok());
  ASSERT_EQ(back->size(), 2U);
  for (size_t i = 0; i < loops.size(); ++i) {
    EXPECT_EQ(back->at(i).name, loops[i].name);
    EXPECT_EQ(back->at(i).state, loops[i].state);
    EXPECT_EQ(back->at(i).restarts, loops[i].restarts);
    EXPECT_EQ(back->at(i).abandoned, loops[i].abandoned);
    EXPECT_EQ(back->at(i).steps, loops[i].steps);
    EXPECT_EQ(back->at(i).busy, loops[i].busy);
    EXPECT_EQ(back->at(i).last_error, loops[i].last_error);
  }
  EXPECT_TRUE(decode_status(encode_status({}))->empty());
}

TEST(StatusCodec, TextThatIsNotUtf8Survives) {
  const auto back = decode_status(encode_status({{"a", {}, 0, 0, 0, 0, "bad \xff byte"}}));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->at(0).last_error, "bad \xef\xbf\xbd byte");
}

TEST(StatusCodec, RefusesEverythingElse) {
  for (const char* text : {
           "",
           "nonsense",
           "{}",
           "1",
           "[1]",
           "[[]]",
           "[[\"a\",1,0,0,0,0.5]]",
           "[[\"a\",1,0,0,0,0.5,\"\",1]]",
           "[[1,1,0,0,0,0.5,\"\"]]",
           "[[\"a\",\"running\",0,0,0,0.5,\"\"]]",
           "[[\"a\",-1,0,0,0,0.5,\"\"]]",
           "[[\"a\",7,0,0,0,0.5,\"\"]]",
           "[[\"a\",1,0.5,0,0,0.5,\"\"]]",
           "[[\"a\",1,0,0,0,0.5,null]]",
           "[[\"a\",1,0,0,0,0.5,\"\"]",
           "[[\"a\",1,0,0,0,0.5,\"\"]]x",
       }) {
    EXPECT_EQ(decode_status(text).status().code(), Code::DataLoss) << text;
  }
}

TEST(StatusCodec, EveryStateHasAName) {
  for (int i = 0; i <= static_cast<int>(LoopState::Restarting); ++i) {
    EXPECT_NE(name(static_cast<LoopState>(i)), "unknown") << i;
  }
}

}  // namespace
}  // namespace sluice
