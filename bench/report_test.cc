#include "bench/report.h"

#include "bench/command.h"
#include "dataflow/base/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdio>

namespace sluice::bench {
namespace {

using ::testing::HasSubstr;

BenchResult with_peer(double ours, double theirs) {
  auto r = BenchResult::of("rate", {ours - 1, ours, ours + 2}, "steps/s");
  r.peer = "sb3 2.1";
  r.peer_value = theirs;
  r.goal = Goal::at_least_ratio(10);
  return r;
}

TEST(Median, IsTheMiddleOrTheMeanOfTheTwo) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({9, 1, 5}), 5);
  EXPECT_EQ(median({4, 1, 2, 9}), 3);
}

TEST(Quantile, InterpolatesBetweenNeighbours) {
  EXPECT_EQ(quantile({1, 2, 3, 4, 5}, 1), 5);
  EXPECT_DOUBLE_EQ(quantile({0, 10}, 0.25), 2.5);
}

TEST(BenchResult, RatioGoalNeedsAPeer) {
  EXPECT_EQ(with_peer(1000, 100).met(), true);
  EXPECT_EQ(with_peer(999, 100).met(), false);
  auto alone = with_peer(1000, 100);
  alone.peer_value.reset();
  EXPECT_EQ(alone.ratio(), std::nullopt);
  EXPECT_EQ(alone.met(), std::nullopt);
}

TEST(BenchResult, UpperBoundIsMetFromBelow) {
  auto r = BenchResult::once("latency", 20);
  EXPECT_EQ(r.met(), std::nullopt);
  r.goal = Goal::at_most_value(20);
  EXPECT_EQ(r.met(), true);
  r.value = 20.5;
  EXPECT_EQ(r.met(), false);
}

TEST(Report, JsonHasEveryKeyAndNullForWhatIsMissing) {
  const auto alone = BenchResult::once("copies", 0);
  const auto json = nlohmann::json::parse(to_json("stream", {with_peer(1200, 100), alone}));
  EXPECT_EQ(json["name"], "stream");
  EXPECT_TRUE(json["version"].is_string());
  EXPECT_TRUE(json["cpu"].is_string());
  EXPECT_GE(json["threads"], 1);
  ASSERT_EQ(json["results"].size(), 2U);
  const auto& first = json["results"][0];
  EXPECT_EQ(first["metric"], "rate");
  EXPECT_EQ(first["value"], 1200);
  EXPECT_EQ(first["unit"], "steps/s");
  EXPECT_EQ(first["peer"], "sb3 2.1");
  EXPECT_EQ(first["peer_value"], 100);
  EXPECT_EQ(first["ratio"], 12);
  EXPECT_EQ(first["goal"], "ratio >= 10");
  EXPECT_EQ(first["met"], true);
  EXPECT_EQ(first["spread"], (nlohmann::json{1199, 1202}));
  for (const char* key : {"peer", "peer_value", "ratio", "goal", "met", "spread"}) {
    EXPECT_TRUE(json["results"][1].contains(key)) << key;
    EXPECT_TRUE(json["results"][1][key].is_null()) << key;
  }
}

TEST(Report, TableShowsSpreadPeerAndGoal) {
  const std::string table = to_table("ppo-cartpole", {with_peer(1200, 100)});
  for (const char* text : {"1200 steps/s", "1199..1202", "sb3 2.1", "ratio >= 10", "yes"}) {
    EXPECT_THAT(table, HasSubstr(text));
  }
}

TEST(BenchRegistry, UnknownNameIsRefusedWithTheNearest) {
  EXPECT_THAT(find_bench("streem").status().message(), HasSubstr("'stream'"));
  EXPECT_EQ(find_bench("").status().code(), Code::InvalidArgument);
  ASSERT_TRUE(find_bench("idle").ok());
  EXPECT_EQ(find_bench("idle")->name, "idle");
}

TEST(BenchCommand, WrongUseIsExitCodeTwo) {
  BenchCommand command;
  command.name = "no-such-bench";
  EXPECT_EQ(run_bench_command(command), 2);
  command.name = "stream";
  command.options.seconds = -1;
  EXPECT_EQ(run_bench_command(command), 2);
}

TEST(BenchCommand, WritesTheJsonFileAndExitsZeroWithoutPeer) {
  BenchCommand command;
  command.name = "stream";
  command.options.seconds = 0.05;
  command.json = testing::TempDir() + "sluice_bench.json";
  ASSERT_EQ(run_bench_command(command), 0);
  const auto text = read_file(command.json);
  ASSERT_TRUE(text.ok());
  const auto json = nlohmann::json::parse(*text);
  EXPECT_EQ(json["name"], "stream");
  EXPECT_GT(json["results"][0]["value"], 0);
  EXPECT_EQ(json["results"][2]["metric"], "copies");
  EXPECT_EQ(json["results"][2]["value"], 0);
  std::remove(command.json.c_str());
}

}  // namespace
}  // namespace sluice::bench
