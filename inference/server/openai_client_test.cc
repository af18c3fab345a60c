// The server as the `openai` Python client sees it. SLUICE_ORACLE_PYTHON names an interpreter that
// has it.
#include "inference/server/server_support.h"
#include "models/io/subprocess.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace sluice::server_support {
namespace {

TEST(OpenAiClient, GetsWhatItExpects) {
  const char* python = std::getenv("SLUICE_ORACLE_PYTHON");
  if (python == nullptr) GTEST_SKIP() << "SLUICE_ORACLE_PYTHON is not set";
  if (!run_program({python, "-c", "import openai"}).ok()) {
    GTEST_SKIP() << python << " has no openai";
  }
  LlmServerOptions options;
  options.api_key = "secret";
  TestServer server(options);
  const Status status =
      run_program({python, SLUICE_SOURCE_DIR "/inference/server/testdata/openai_client.py",
                   fmt::format("http://127.0.0.1:{}/v1", server.server().port()), options.api_key});
  EXPECT_TRUE(status.ok()) << status.message();
}

}  // namespace
}  // namespace sluice::server_support
