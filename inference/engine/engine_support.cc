#include "inference/engine/engine_support.h"

#include "dataflow/base/random.h"
#include "inference/engine/packed_weights.h"
#include "models/transformer/golden_support.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

namespace sluice::engine_support {

Transformer model(const std::string& name) {
  auto loaded = golden::load(name);
  SLUICE_CHECK(loaded.ok()) << loaded.status().message();
  at::set_num_threads(1);  // waking a second one takes longer than the whole model
  TransformerConfig config = loaded->model.config();
  if (!config.learned_positions) config.max_positions = 512;
  config.eos_tokens.clear();
  return Transformer(config, loaded->model.parameters());
}

EngineOptions options() {
  EngineOptions o;
  o.blocks = 64;
  o.block_size = 4;
  o.scheduler.token_budget = 32;
  o.scheduler.long_prefill = 0;
  return o;
}

EngineOptions exact_options() {
  EngineOptions o = options();
  o.linear = packed_weights(WeightFormat::Fp32);
  return o;
}

Runner::Runner(const Transformer& model, EngineOptions options) {
  auto engine = Engine::create(model, std::move(options), kVersion1, clock_);
  SLUICE_CHECK(engine.ok()) << engine.status().message();
  engine_ = *std::move(engine);
}

RequestId Runner::submit(GenRequest request) {
  GenListener listener;
  listener.on_token = [this](const TokenEvent& event) {
    streamed_[{event.request, event.sample}].push_back(event.token.token);
  };
  listener.on_done = [this](Completion done) {
    EXPECT_FALSE(done_.contains(done.id)) << "told twice";
    const RequestId id = done.id;
    done_.emplace(id, std::move(done));
  };
  const auto id = engine_->submit(std::move(request), std::move(listener));
  SLUICE_CHECK(id.ok()) << id.status().message();
  return *id;
}

void Runner::step() {
  const Status status = engine_->step();
  ASSERT_TRUE(status.ok()) << status.message();
  const Status fine = engine_->check();
  ASSERT_TRUE(fine.ok()) << fine.message();
}

void Runner::run() {
  for (int i = 0; engine_->busy(); ++i) {
    ASSERT_LT(i, 10000) << "the engine does not come to an end";
    ASSERT_NO_FATAL_FAILURE(step());
  }
}

Completion Runner::complete(GenRequest request) {
  const RequestId id = submit(std::move(request));
  run();
  return done_.at(id);
}

std::vector<int64_t> prompt(int64_t n, uint64_t seed) {
  std::vector<int64_t> tokens;
  for (int64_t i = 0; i < n; ++i) {
    tokens.push_back(static_cast<int64_t>(3 + RandomKey(seed).word(static_cast<uint64_t>(i)) % 28));
  }
  return tokens;
}

GenRequest greedy_request(std::vector<int64_t> prompt, int32_t max_tokens) {
  GenRequest request;
  request.prompt = std::move(prompt);
  request.sampling.temperature = 0;
  request.sampling.max_tokens = max_tokens;
  return request;
}

GenRequest drawn_request(std::vector<int64_t> prompt, int32_t max_tokens, uint64_t seed) {
  GenRequest request;
  request.prompt = std::move(prompt);
  request.sampling.max_tokens = max_tokens;
  request.sampling.seed = seed;
  return request;
}

Parameters other_weights(const Transformer& model, uint64_t seed) {
  TransformerConfig config = model.config();
  config.initializer_range = 0.3;
  return Parameters::random(config, RandomKey(seed));
}

}  // namespace sluice::engine_support
