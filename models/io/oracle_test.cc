// What we write, read by `transformers`. SLUICE_ORACLE_PYTHON names an interpreter that has it;
// SLUICE_ORACLE_GGUF may name a real GGUF file to check besides the small one.
#include "dataflow/base/files.h"
#include "models/io/hf_writer.h"
#include "models/io/subprocess.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace sluice {
namespace {

namespace fs = std::filesystem;

class Oracle : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* python = std::getenv("SLUICE_ORACLE_PYTHON");
    if (python == nullptr) GTEST_SKIP() << "SLUICE_ORACLE_PYTHON is not set";
    python_ = python;
    folder_ = (fs::temp_directory_path() / fmt::format("sluice-oracle-{}", ::getpid())).string();
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }

  void check(const std::string& gguf) const {
    const auto from = Checkpoint::open(gguf);
    ASSERT_TRUE(from.ok()) << from.status().message();
    const Status written = convert_to_hf(**from, folder_, at::kFloat, 200'000'000);
    ASSERT_TRUE(written.ok()) << written.message();
    const Status checked = run_program(
        {python_, SLUICE_SOURCE_DIR "/models/io/testdata/check_folder.py", folder_, gguf});
    EXPECT_TRUE(checked.ok()) << checked.message();
  }

  std::string python_;
  std::string folder_;
};

TEST_F(Oracle, LoadsTheFolderOfASmallModel) {
  check(SLUICE_SOURCE_DIR "/models/io/testdata/tiny_llama.gguf");
}

TEST_F(Oracle, LoadsTheFolderOfARealModel) {
  const char* gguf = std::getenv("SLUICE_ORACLE_GGUF");
  if (gguf == nullptr) GTEST_SKIP() << "SLUICE_ORACLE_GGUF is not set";
  check(gguf);
}

}  // namespace
}  // namespace sluice
