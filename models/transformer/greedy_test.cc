#include "models/transformer/greedy.h"

#include "models/transformer/golden_support.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>

namespace sluice {
namespace {

using testing::HasSubstr;

/// The tiny llama, as if made for `positions`.
Transformer tiny(int64_t positions) {
  TransformerConfig config;
  auto loaded = golden::load("llama", &config);
  SLUICE_CHECK(loaded.ok()) << loaded.status().message();
  config.max_positions = positions;
  return Transformer(config, loaded->model.parameters());
}

std::vector<int64_t> tokens(int64_t n) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < n; ++i) out.push_back(3 + (i * i + 5 * i) % 57);
  return out;
}

GreedyOptions at_most(int64_t tokens) {
  GreedyOptions options;
  options.max_tokens = tokens;
  return options;
}

TEST(Greedy, APromptOfSeveralPiecesIsContinuedAsAWhole) {
  const at::NoGradGuard no_grad;
  const Transformer model = tiny(4096);
  for (const int64_t length : {512, 513, 1300}) {
    std::vector<int64_t> text = tokens(length);
    const auto got = greedy(model, text, at_most(4));
    ASSERT_TRUE(got.ok()) << got.status().message();
    ASSERT_EQ(got->size(), 4U);
    for (const int64_t token : *got) {
      const at::Tensor hidden = model.forward(pack({text}));
      const at::Tensor scores = model.logits(hidden.slice(0, hidden.size(0) - 1));
      EXPECT_EQ(token, scores.argmax(-1).item<int64_t>()) << length;
      text.push_back(token);
    }
  }
}

TEST(Greedy, EndsWithTheContextAndRefusesLongerPrompts) {
  const Transformer model = tiny(64);
  EXPECT_EQ(greedy(model, tokens(60), at_most(10))->size(), 4U);
  EXPECT_EQ(greedy(model, tokens(64), at_most(10))->size(), 0U);
  EXPECT_EQ(greedy(model, tokens(65), {}).status().message(),
            "the prompt has 65 tokens, the model takes 64");
  // Hidden states of a million tokens would not fit into memory; nothing is computed.
  EXPECT_THAT(greedy(model, tokens(1'000'000), {}).status().message(), HasSubstr("1000000"));
  EXPECT_THAT(greedy(model, {}, {}).status().message(), HasSubstr("no tokens"));
  EXPECT_THAT(greedy(model, {64}, {}).status().message(), HasSubstr("outside the vocabulary"));
}

}  // namespace
}  // namespace sluice
