#include "bench/peer.h"

#include "dataflow/base/files.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace sluice::bench {
namespace {

TEST(Peer, LastJsonLineCounts) {
  const auto found = parse_peer(
      "warming up\n{\"peer\": \"x\", \"value\": 1}\nnoise {not json}\n"
      "{\"peer\": \"sb3\", \"version\": \"2.1\", \"value\": 1234.5, \"unit\": \"steps/s\", "
      "\"repeats\": [1, 2.5, 3], \"settings\": {\"envs\": 8}}\n");
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->peer, "sb3");
  EXPECT_EQ(found->version, "2.1");
  EXPECT_EQ(found->value, 1234.5);
  EXPECT_EQ(found->unit, "steps/s");
  EXPECT_EQ(found->repeats, (std::vector<double>{1, 2.5, 3}));
  EXPECT_EQ(found->settings, "{\"envs\":8}");
}

TEST(Peer, OutputWithoutJsonIsDataLoss) {
  EXPECT_EQ(parse_peer("").status().code(), Code::DataLoss);
  EXPECT_EQ(parse_peer("Traceback\n[1, 2]\n").status().code(), Code::DataLoss);
}

TEST(Peer, LineWithoutANumberIsDataLoss) {
  EXPECT_EQ(parse_peer("{\"peer\": \"x\", \"value\": null}").status().code(), Code::DataLoss);
  EXPECT_EQ(parse_peer("{\"value\": 1}").status().code(), Code::DataLoss);
}

class PeerProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.peer_python = "/bin/sh";  // the programs here are written for it
    options_.peers_dir = testing::TempDir() + "sluice_peer_test";
    std::filesystem::create_directories(options_.peers_dir);
  }
  void TearDown() override { std::filesystem::remove_all(options_.peers_dir); }
  void program(const std::string& text) {
    ASSERT_TRUE(write_file_atomic(options_.peers_dir + "/fake.py", text).ok());
  }
  BenchOptions options_;
};

TEST_F(PeerProgram, GetsItsArgumentsAndIsHeard) {
  program("echo working\necho \"{\\\"peer\\\": \\\"$1\\\", \\\"value\\\": $2}\"\n");
  const auto found = run_peer(options_, "fake.py", {"two words", "7"});
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->peer, "two words");
  EXPECT_EQ(found->value, 7);
}

TEST_F(PeerProgram, FailureSaysWhichProgramAndExitCode) {
  program("exit 2\n");
  const auto found = run_peer(options_, "fake.py", {});
  EXPECT_EQ(found.status().code(), Code::Unavailable);
  EXPECT_EQ(found.status().message(), "fake.py ended with exit code 2");
}

TEST_F(PeerProgram, DeathBySignalIsAFailure) {
  program("kill -9 $$\n");
  EXPECT_EQ(run_peer(options_, "fake.py", {}).status().message(), "fake.py ended with signal 9");
}

TEST_F(PeerProgram, MissingInterpreterOrProgramIsNotFound) {
  EXPECT_EQ(run_peer(options_, "fake.py", {}).status().code(), Code::NotFound);
  program("exit 0\n");
  options_.peer_python = "/no/such/python";
  EXPECT_EQ(run_peer(options_, "fake.py", {}).status().code(), Code::NotFound);
}

}  // namespace
}  // namespace sluice::bench
