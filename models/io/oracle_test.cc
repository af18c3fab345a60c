// What we write, read by `transformers`. SLUICE_ORACLE_PYTHON names an interpreter that has it;
// SLUICE_ORACLE_GGUF may name a real GGUF file to check besides the small one.
#include "dataflow/base/files.h"
#include "models/io/gguf_writer.h"
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

TEST_F(Oracle, GgufPyReadsWhatWeWriteOfEveryArchitecture) {
  const std::string script = SLUICE_SOURCE_DIR "/models/io/testdata/gguf_oracle.py";
  fs::create_directories(folder_);
  const Status made = run_program({python_, script, "make", folder_});
  ASSERT_TRUE(made.ok()) << made.message();
  // The one with a tokenizer.
  fs::copy(SLUICE_SOURCE_DIR "/models/io/testdata/tiny_llama", folder_ + "/tiny_llama");
  const std::pair<const char*, StoredType> types[] = {{"f32", StoredType::F32},
                                                      {"f16", StoredType::F16},
                                                      {"bf16", StoredType::BF16},
                                                      {"q8_0", StoredType::Q8_0}};
  for (const auto& item : fs::directory_iterator(folder_)) {
    const std::string model = item.path().string();
    const auto from = Checkpoint::open(model);
    ASSERT_TRUE(from.ok()) << from.status().message();
    for (const auto& [name, type] : types) {
      const std::string file = fmt::format("{}/{}.gguf", model, name);
      const Status written = convert_to_gguf(**from, file, type);
      ASSERT_TRUE(written.ok()) << written.message();
      // And back: nothing about the model got lost but bits of its weights.
      const auto back = Checkpoint::open(file);
      ASSERT_TRUE(back.ok()) << back.status().message();
      EXPECT_EQ((*back)->tensors().size(), (*from)->tensors().size()) << file;
    }
  }
  const Status checked = run_program({python_, script, "check", folder_});
  EXPECT_TRUE(checked.ok()) << checked.message();
}

TEST_F(Oracle, LoadsTheFolderOfARealModel) {
  const char* gguf = std::getenv("SLUICE_ORACLE_GGUF");
  if (gguf == nullptr) GTEST_SKIP() << "SLUICE_ORACLE_GGUF is not set";
  check(gguf);
}

}  // namespace
}  // namespace sluice
