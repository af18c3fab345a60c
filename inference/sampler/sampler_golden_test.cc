// The kept sets and log-probs of Hugging Face transformers' logits processors; see
// testdata/make_golden.py.
#include "dataflow/base/files.h"
#include "inference/sampler/sampler.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace sluice {
namespace {

TEST(SamplerGolden, KeptSetsAndLogprobsEqualTransformers) {
  const auto text =
      read_file(std::string(SLUICE_SOURCE_DIR) + "/inference/sampler/testdata/processors.json");
  ASSERT_TRUE(text.ok()) << text.status().message();
  const auto golden = nlohmann::json::parse(*text);
  TokenSampler sampler;
  size_t compared = 0;
  for (const auto& item : golden["cases"]) {
    const std::vector<float> row = golden["rows"][item["row"].get<size_t>()];
    const auto& given = item["params"];
    SamplingParams params;
    params.temperature = given.value("temperature", 1.0F);
    params.top_k = given.value("top_k", 0);
    params.top_p = given.value("top_p", 1.0F);
    params.min_p = given.value("min_p", 0.0F);
    params.repetition_penalty = given.value("repetition_penalty", 1.0F);
    TokenCounts counts;
    const std::vector<int64_t> seen = item["seen"];
    counts.add_prompt(std::span(seen).first(6));
    for (size_t i = 6; i < seen.size(); ++i) counts.add_output(seen[i]);
    const auto kept = sampler.distribution(row, params, counts);
    ASSERT_TRUE(kept.ok()) << kept.status().message();
    size_t at = 0;
    for (size_t id = 0; id < row.size(); ++id) {
      const bool there = at < kept->size() && static_cast<size_t>((*kept)[at].token) == id;
      const auto& want = item["logprobs"][id];
      ASSERT_EQ(there, !want.is_null()) << given.dump() << " token " << id;
      if (!there) continue;
      EXPECT_NEAR(std::log((*kept)[at++].probability), want.get<double>(), 1e-5) << given.dump();
      ++compared;
    }
  }
  EXPECT_GT(compared, 1000U);
}

}  // namespace
}  // namespace sluice
