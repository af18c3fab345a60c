// What must hold of a forward whatever the architecture: packing, caching and chunking change
// nothing.
#include "models/transformer/model.h"

#include "models/transformer/attention_ops.h"
#include "models/transformer/golden_support.h"
#include "models/transformer/kv_cache.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>

#include <algorithm>

namespace sluice {
namespace {

constexpr double kTolerance = 2e-5;

double difference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

std::vector<int64_t> random_tokens(int64_t n, int64_t vocab, uint64_t seed) {
  std::vector<int64_t> tokens;
  for (int64_t i = 0; i < n; ++i) {
    const auto word = RandomKey(seed).word(static_cast<uint64_t>(i));
    tokens.push_back(static_cast<int64_t>(word % static_cast<uint64_t>(vocab)));
  }
  return tokens;
}

/// The hidden states of `tokens` when they come in pieces of `chunk`.
at::Tensor in_chunks(const Transformer& model, const std::vector<int64_t>& tokens, int64_t chunk) {
  ContiguousKvCache cache(static_cast<int64_t>(model.config().layers.size()), 1);
  std::vector<at::Tensor> parts;
  const auto n = static_cast<int64_t>(tokens.size());
  for (int64_t begin = 0; begin < n; begin += chunk) {
    const int64_t end = std::min(n, begin + chunk);
    const PackedBatch batch = pack({{tokens.begin() + begin, tokens.begin() + end}}, {begin});
    parts.push_back(model.forward(batch, &cache));
  }
  return at::cat(parts);
}

class Forward : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto loaded = golden::load(GetParam(), &config_);
    ASSERT_TRUE(loaded.ok()) << loaded.status().to_string();
    model_.emplace(std::move(*loaded));
  }
  const Transformer& model() const { return model_->model; }

  const at::NoGradGuard no_grad_;
  TransformerConfig config_;
  std::optional<golden::Model> model_;
};

TEST_P(Forward, PackedSequencesEqualSeparateOnes) {
  const at::Tensor together = model().forward(model_->batch);
  std::vector<at::Tensor> alone;
  for (const auto& row : golden::sequences(model_->batch)) {
    alone.push_back(model().forward(pack({row})));
  }
  EXPECT_LE(difference(together, at::cat(alone)), kTolerance);
}

TEST_P(Forward, TokenByTokenWithCacheEqualsFull) {
  const auto rows = golden::sequences(model_->batch);
  const at::Tensor full = model().forward(model_->batch);
  ContiguousKvCache cache(static_cast<int64_t>(config_.layers.size()), 2);
  // A prompt of different lengths first, then both sequences one token at a time.
  const std::vector<int64_t> prompt = {9, 3};
  static_cast<void>(model().forward(pack({{rows[0].begin(), rows[0].begin() + prompt[0]},
                                          {rows[1].begin(), rows[1].begin() + prompt[1]}}),
                                    &cache));
  for (int64_t step = 0; step < 8; ++step) {
    const int64_t a = prompt[0] + step;
    const int64_t b = prompt[1] + step;
    const PackedBatch next =
        pack({{rows[0][static_cast<size_t>(a)]}, {rows[1][static_cast<size_t>(b)]}}, {a, b});
    const at::Tensor got = model().forward(next, &cache);
    EXPECT_LE(difference(got[0], full[a]), kTolerance) << "step " << step;
    EXPECT_LE(difference(got[1], full[static_cast<int64_t>(rows[0].size()) + b]), kTolerance)
        << "step " << step;
  }
}

TEST_P(Forward, PlainAttentionGivesTheSame) {
  const at::Tensor fused = model().forward(model_->batch);
  model_->model.use(std::make_shared<PlainAttentionOp>());
  EXPECT_LE(difference(fused, model().forward(model_->batch)), kTolerance);
}

INSTANTIATE_TEST_SUITE_P(Architectures, Forward,
                         testing::Values("llama", "llama_one_kv_head", "rope_yarn", "mistral",
                                         "qwen2", "qwen3", "qwen3_moe", "mixtral", "smollm3",
                                         "gemma2", "gpt2", "qwen3_next"),
                         [](const auto& info) { return std::string(info.param); });

class ChunkedPrefill : public Forward {};

TEST_P(ChunkedPrefill, OfAnyChunkEqualsTheWholePrompt) {
  config_.max_positions = 512;
  const Transformer model(config_, model_->model.parameters());
  const auto tokens = random_tokens(257, config_.vocab_size, 5);
  const at::Tensor whole = model.forward(pack({tokens}));
  for (const int64_t chunk : {1, 16, 17, 256, 1000}) {
    EXPECT_LE(difference(in_chunks(model, tokens, chunk), whole), 5e-5) << "chunk " << chunk;
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, ChunkedPrefill,
                         testing::Values("llama", "mistral", "gemma2", "qwen3_next"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Transformer, ValueHeadGivesOneNumberPerToken) {
  auto loaded = golden::load("llama");
  ASSERT_TRUE(loaded.ok());
  TransformerConfig config = loaded->model.config();
  config.head = HeadKind::Value;
  const Transformer model(config, Parameters::random(config, RandomKey(1)));
  const at::NoGradGuard no_grad;
  const at::Tensor hidden = model.forward(loaded->batch);
  const at::Tensor values = model.values(hidden);
  ASSERT_EQ(values.sizes(), at::IntArrayRef({loaded->batch.total_tokens()}));
  const at::Tensor want = at::mv(hidden, model.parameters().at("score.weight")[0]);
  EXPECT_LE(difference(values, want), 1e-6);
}

TEST(Transformer, BatchWithAnEmptySequenceIsTheOthers) {
  auto loaded = golden::load("llama");
  ASSERT_TRUE(loaded.ok());
  const at::NoGradGuard no_grad;
  const std::vector<int64_t> row = {4, 5, 6};
  EXPECT_LE(
      difference(loaded->model.forward(pack({{}, row, {}})), loaded->model.forward(pack({row}))),
      kTolerance);
}

TEST(Transformer, HalfPrecisionFollowsFullPrecision) {
  for (const char* name : {"llama", "qwen3", "gemma2", "qwen3_next"}) {
    auto loaded = golden::load(name);
    ASSERT_TRUE(loaded.ok());
    const at::NoGradGuard no_grad;
    const TransformerConfig& config = loaded->model.config();
    Parameters half = Parameters::allocate(parameter_specs(config), at::kBFloat16);
    for (const auto& [parameter, tensor] : half.entries()) {
      at::Tensor(tensor).copy_(loaded->model.parameters().at(parameter));
    }
    const at::Tensor got = Transformer(config, half).forward(loaded->batch);
    EXPECT_EQ(got.scalar_type(), at::kBFloat16);
    const at::Tensor want = loaded->model.forward(loaded->batch);
    const double scale = want.square().mean().sqrt().item<double>();
    const double error = (got.to(at::kFloat) - want).square().mean().sqrt().item<double>();
    EXPECT_LE(error, 0.1 * scale) << name;
  }
}

}  // namespace
}  // namespace sluice
