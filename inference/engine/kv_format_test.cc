// Keys and values in fewer bits: the texts of a run do not depend on how the blocks were shared,
// and what is computed stays near that of fp32.
#include "inference/engine/engine_support.h"
#include "inference/engine/paged_attention_op.h"

#include <gmock/gmock.h>

namespace sluice {
namespace {

using namespace engine_support;  // NOLINT(google-build-using-namespace)

EngineOptions options_of(KvFormat format) {
  EngineOptions o = exact_options();
  o.kv_format = format;
  return o;
}

GenRequest scored(int64_t tokens) {
  GenRequest request = greedy_request(prompt(tokens), 8);
  request.sampling.prompt_logprobs = true;
  return request;
}

TEST(KvFormats, LogprobsAreNearThoseOfFp32) {
  for (const char* name : {"llama", "qwen3", "gemma2", "gpt2"}) {
    const Transformer m = model(name);
    Runner plain(m, options_of(KvFormat::Fp32));
    const Completion want = plain.complete(scored(20));
    for (const KvFormat format : {KvFormat::Bf16, KvFormat::Int8}) {
      for (const int64_t fused : {int64_t{8}, PagedAttentionOp::kNever}) {
        EngineOptions o = options_of(format);
        o.attention = std::make_shared<PagedAttentionOp>(fused);
        Runner rounded(m, o);
        const Completion got = rounded.complete(scored(20));
        double worst = 0;
        for (size_t i = 0; i < want.prompt_logprobs.size(); ++i) {
          worst =
              std::max<double>(worst, std::abs(got.prompt_logprobs[i] - want.prompt_logprobs[i]));
        }
        EXPECT_LE(worst, 0.1) << name << ", format " << static_cast<int>(format);
        EXPECT_GT(worst, 0) << name << ": nothing was rounded";
      }
    }
  }
}

TEST(KvFormats, ForksPrefixesChunksAndPreemptionChangeNothing) {
  const Transformer m = model();
  GenRequest request = drawn_request(prompt(21), 16);
  request.sampling.n = 3;
  for (const KvFormat format : {KvFormat::Bf16, KvFormat::Int8}) {
    Runner plain(m, options_of(format));
    const Completion want = plain.complete(request);
    const auto same = [&](const Completion& got, const char* what) {
      for (size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(got.samples[i].tokens, want.samples[i].tokens) << what;
        EXPECT_EQ(got.samples[i].logprobs, want.samples[i].logprobs) << what;
      }
    };
    const Completion again = plain.complete(request);
    EXPECT_GT(again.cached_tokens, 0);
    same(again, "prefix hit");
    EngineOptions chunks = options_of(format);
    chunks.scheduler.token_budget = 5;
    Runner chunked(m, chunks);
    same(chunked.complete(request), "chunks");
    EngineOptions tight = options_of(format);
    tight.blocks = 16;
    Runner crowded(m, tight);
    for (uint64_t i = 0; i < 3; ++i) crowded.submit(drawn_request(prompt(11, 30 + i), 20, i));
    const RequestId id = crowded.submit(request);
    crowded.run();
    EXPECT_GT(crowded.engine().stats().scheduler.preemptions, 0);
    same(crowded.done(id), "preemption");
  }
}

TEST(KvFormats, MemoryHoldsMoreBlocksOfFewerBits) {
  const Transformer m = model();
  const auto blocks = [&](KvFormat format) {
    EngineOptions o = options_of(format);
    o.blocks = 0;
    o.kv_bytes = 1 << 20;
    return Runner(m, o).engine().stats().blocks;
  };
  const int32_t fp32 = blocks(KvFormat::Fp32);
  EXPECT_NEAR(blocks(KvFormat::Bf16), 2 * fp32, 1);
  EXPECT_GT(blocks(KvFormat::Int8), 2 * fp32);
  EXPECT_LT(blocks(KvFormat::Int8), 4 * fp32);
}

}  // namespace
}  // namespace sluice
