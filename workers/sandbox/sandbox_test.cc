#include "workers/sandbox/sandbox.h"

#include "workers/sandbox/code_reward.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace sluice {
namespace {

using testing::HasSubstr;

// Only where the machine has bwrap and lets users make namespaces.
class SandboxTest : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = Sandbox::open();
    if (opened.status().code() == Code::Unavailable) GTEST_SKIP() << opened.status().message();
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    sandbox_.emplace(*std::move(opened));
  }

  SandboxRun sh(const std::string& script, const SandboxLimits& limits = {},
                std::string_view input = "") {
    auto run =
        sandbox_->run({"/bin/sh", "-c", script}, input, {{"data.txt", "from outside"}}, limits);
    EXPECT_TRUE(run.ok()) << run.status().message();
    return run.ok() ? *run : SandboxRun{};
  }

  std::optional<Sandbox> sandbox_;
};

TEST_F(SandboxTest, RunsAProgramWithInputAndFiles) {
  const auto run = sh("cat; cat data.txt; echo oops >&2; exit 3", {}, "hello ");
  EXPECT_EQ(run.out, "hello from outside");
  EXPECT_EQ(run.err, "oops\n");
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_FALSE(run.timed_out);
  EXPECT_FALSE(run.succeeded());
  EXPECT_TRUE(sh("true").succeeded());
}

TEST_F(SandboxTest, SeesNothingOfTheMachine) {
  EXPECT_NE(sh("cat /etc/passwd").exit_code, 0);
  EXPECT_EQ(sh("ls /").out, "bin\nbox\ndev\netc\nlib\nlib64\nproc\ntmp\nusr\n");
  EXPECT_THAT(sh("env").out, testing::Not(HasSubstr("USER")));
  // Itself, its monitor and ls.
  EXPECT_LE(std::stoi(sh("ls -d /proc/[0-9]* | wc -l").out), 5);
  EXPECT_NE(sh("echo x > /usr/x || echo x > /x || echo x > /box/x").exit_code, 0);
  EXPECT_TRUE(sh("echo x > /tmp/x").succeeded());
  EXPECT_NE(sh("cat /tmp/x").exit_code, 0);  // the next run has another /tmp
}

TEST_F(SandboxTest, HasNoNetworkAndNoWayIntoTheKernel) {
  const auto python = [this](const std::string& code) {
    return sh("/usr/bin/python3 -I -c '" + code + "'");
  };
  EXPECT_THAT(python("import socket; socket.socket(socket.AF_INET)").err,
              HasSubstr("Operation not permitted"));
  EXPECT_THAT(python("import socket; socket.socket(socket.AF_NETLINK)").err,
              HasSubstr("Operation not permitted"));
  EXPECT_TRUE(python("import socket; socket.socket(socket.AF_UNIX)").succeeded());
  EXPECT_NE(sh("unshare -U true").exit_code, 0);
  EXPECT_NE(sh("mount -t tmpfs none /tmp").exit_code, 0);
}

TEST_F(SandboxTest, StopsAtTheTimeLimitWithAllItsProcesses) {
  SandboxLimits limits;
  limits.time = std::chrono::milliseconds(300);
  for (const auto* script :
       {"sleep 100", "while true; do :; done", "sleep 100 & sleep 100 & wait",
        "exec >/dev/null 2>&1; sleep 100", "trap '' TERM INT HUP; sleep 100"}) {
    const auto begin = std::chrono::steady_clock::now();
    const auto run = sh(script, limits);
    EXPECT_TRUE(run.timed_out) << script;
    EXPECT_FALSE(run.succeeded());
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
  }
}

TEST_F(SandboxTest, StopsWhatWritesTooMuch) {
  SandboxLimits limits;
  limits.output_bytes = 1000;
  const auto run = sh("yes", limits);
  EXPECT_TRUE(run.output_cut);
  EXPECT_FALSE(run.timed_out);
  EXPECT_EQ(run.out.size(), 1000U);
  EXPECT_TRUE(sh("yes >&2", limits).output_cut);
  limits.file_bytes = 100000;
  EXPECT_NE(sh("head -c 200000 /dev/zero > /tmp/x", limits).exit_code, 0);
  EXPECT_NE(sh("for i in 1 2 3 4 5 6; do head -c 90000 /dev/zero > /tmp/$i || exit 1; done", limits)
                .exit_code,
            0);
}

TEST_F(SandboxTest, BoundsMemoryAndProcesses) {
  SandboxLimits limits;
  limits.memory_bytes = int64_t{128} << 20;
  const auto run = sh("/usr/bin/python3 -I -c 'x = bytearray(1 << 30)'", limits);
  EXPECT_THAT(run.err, HasSubstr("MemoryError"));
  limits = {};
  limits.processes = 8;
  EXPECT_NE(sh("for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 1 & done; wait", limits).exit_code,
            0);
}

TEST_F(SandboxTest, RefusesFilesThatWouldLeaveItsFolder) {
  for (const char* name : {"", "../x", "a/b", "."}) {
    EXPECT_EQ(sandbox_->run({"true"}, "", {{name, ""}}, {}).status().code(), Code::InvalidArgument);
  }
  EXPECT_EQ(sandbox_->run({}, "", {}, {}).status().code(), Code::InvalidArgument);
}

TEST_F(SandboxTest, SeveralThreadsMayRunAtOnce) {
  std::vector<std::string> out(4);
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < out.size(); ++i) {
      threads.emplace_back([&, i] {
        out[i] = sandbox_
                     ->run({"cat"}, std::string(100000, static_cast<char>('a' + i)), {},
                           {.output_bytes = 200000})
                     ->out;
      });
    }
  }
  for (size_t i = 0; i < out.size(); ++i) {
    EXPECT_EQ(out[i], std::string(100000, static_cast<char>('a' + i)));
  }
}

TEST_F(SandboxTest, JudgesPythonByItsTests) {
  const auto reward = python_tests_pass(*sandbox_);
  TextProblem problem;
  problem.fields["tests"] = "assert add(2, 3) == 5";
  const auto value = [&](const std::string& code) {
    const auto result = reward(problem, "Here:\n```python\n" + code + "\n```\n");
    return result.ok() ? *result : -1;
  };
  EXPECT_EQ(value("def add(a, b):\n  return a + b"), 1);
  EXPECT_EQ(value("def add(a, b):\n  return a - b"), 0);
  EXPECT_EQ(value("import os; os._exit(0)"), 0);
  EXPECT_EQ(value("import sys; sys.exit()"), 0);
  EXPECT_EQ(value("def"), 0);
  EXPECT_EQ(*reward(problem, "def add(a, b): return a + b"), 0);
  EXPECT_FALSE(reward({}, "```\n1\n```").ok());
}

TEST(LastCodeBlock, TakesTheLastThatCloses) {
  EXPECT_EQ(last_code_block("```\na\n```\n```python\nb\nc\n```\n"), "b\nc\n");
  EXPECT_EQ(last_code_block("```\na\n```\n```\nb"), "a\n");
  EXPECT_EQ(last_code_block("no ``` code ```"), std::nullopt);
  EXPECT_EQ(last_code_block(""), std::nullopt);
  EXPECT_EQ(last_code_block("```"), std::nullopt);
}

}  // namespace
}  // namespace sluice
