// Folders that we write, of every architecture, loaded by `transformers`. SLUICE_ORACLE_PYTHON
// names an interpreter that has it.
#include "models/io/hf_writer.h"
#include "models/io/safetensors_writer.h"
#include "models/io/subprocess.h"
#include "models/transformer/golden_support.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace sluice {
namespace {

namespace fs = std::filesystem;

/// `name` read and written again, and beside it what our forward says about it.
void write_model(const std::string& name, const std::string& folder) {
  SCOPED_TRACE(name);
  TransformerConfig config;
  const auto loaded = golden::load(name, &config);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  const auto tensors = to_checkpoint(config, loaded->model.parameters());
  const nlohmann::json json = write_hf_config(config);
  HfFolderContent content;
  content.config = &json;
  for (const auto& [tensor, value] : tensors) {
    content.tensors.push_back({tensor, value.scalar_type(), value.sizes().vec()});
  }
  content.producer = [&](size_t i) -> Result<at::Tensor> { return tensors[i].tensor; };
  const Status written = write_hf_folder(folder, content);
  ASSERT_TRUE(written.ok()) << written.message();

  const at::NoGradGuard no_grad;
  const PackedBatch& batch = loaded->batch;
  const at::Tensor hidden = loaded->model.forward(batch);
  const at::Tensor scores = config.head == HeadKind::Classifier
                                ? loaded->model.classify(hidden, batch)
                                : loaded->model.logits(hidden);
  const Status said = write_safetensors(folder + "/said.safetensors",
                                        {{"ids", batch.tokens},
                                         {"cu_seqlens", at::tensor(batch.cu_seqlens, at::kLong)},
                                         {"logits", scores}});
  ASSERT_TRUE(said.ok()) << said.message();
}

TEST(FolderOracle, TransformersLoadsEveryArchitectureAndSaysTheSame) {
  const char* python = std::getenv("SLUICE_ORACLE_PYTHON");
  if (python == nullptr) GTEST_SKIP() << "SLUICE_ORACLE_PYTHON is not set";
  const std::string root =
      (fs::temp_directory_path() / fmt::format("sluice-folders-{}", ::getpid())).string();
  for (const std::string& name : golden::models()) write_model(name, root + "/" + name);
  const Status checked = run_program({python, golden::folder("check_folders.py"), root});
  EXPECT_TRUE(checked.ok()) << checked.message();
  fs::remove_all(root);
}

}  // namespace
}  // namespace sluice
