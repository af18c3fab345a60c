// `sluice generate --input` that is killed at any moment and started again ends with the file that
// an undisturbed run writes.
#include "tests/support/child.h"
#include "tests/support/run_files.h"

#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>
#include <fstream>

namespace sluice::testing {
namespace {

constexpr const char* kModel = SLUICE_SOURCE_DIR "/models/io/testdata/tiny_llama";

TEST(GenerateKilled, GoesOnToTheSameFile) {
  const TempDir dir;
  {
    std::ofstream in(dir / "in.jsonl");
    for (int i = 0; i < 24; ++i) in << R"({"prompt": "the cat )" << i << "\"}\n";
  }
  const auto command = [&](const char* out) {
    return std::vector<std::string>{
        sluice_binary(), "generate", kModel, "--input",   dir / "in.jsonl",
        "--output",      dir / out,  "-n",   "3",         "--max-tokens",
        "150",           "--seed",   "5",    "--threads", "1",
        "--ignore-eos"};
  };
  const Ended whole = Child(command("whole.jsonl")).wait(60);
  ASSERT_EQ(whole.code, 0) << whole.err;
  const std::string want = read_text(dir / "whole.jsonl");
  ASSERT_GT(want.size(), 24 * 3 * 150 * 4U);
  int killed = 0;
  for (int round = 1; round <= 6; ++round) {
    Child child(command("out.jsonl"));
    std::error_code none;
    const auto enough = want.size() * static_cast<size_t>(round) / 8;
    child.wait_until(
        [&] {
          const auto size = std::filesystem::file_size(dir / "out.jsonl", none);
          return !none && size > enough;
        },
        30);
    killed += child.running() ? 1 : 0;
    child.signal(SIGKILL);
    child.wait(10);
  }
  EXPECT_GT(killed, 0);
  const Ended end = Child(command("out.jsonl")).wait(60);
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_EQ(read_text(dir / "out.jsonl"), want);
}

}  // namespace
}  // namespace sluice::testing
