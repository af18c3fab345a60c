#include "inference/engine/engine_support.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

namespace sluice {
namespace {

using namespace engine_support;  // NOLINT(google-build-using-namespace)
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr VersionTag kVersion3{1, 1, 3, 33};

/// What an engine that only ever had `weights` gives.
Completion fresh(const Transformer& m, const Parameters& weights, const GenRequest& request) {
  Runner runner(Transformer(m.config(), weights));
  return runner.complete(request);
}

TEST(EngineSwap, IdleEngineServesTheNewWeightsAndNoOldPrefix) {
  const Transformer m = model();
  const Parameters second = other_weights(m, 2);
  const GenRequest request = greedy_request(prompt(17), 8);
  for (const SwapMode mode : {SwapMode::Drain, SwapMode::Resume, SwapMode::InFlight}) {
    Runner runner(m);
    const Completion before = runner.complete(request);
    EXPECT_EQ(runner.complete(request).cached_tokens, 16);
    ASSERT_TRUE(runner.engine().swap_weights(second, kVersion2, mode).ok());
    EXPECT_EQ(runner.engine().version(), kVersion2);
    const Completion after = runner.complete(request);
    EXPECT_EQ(after.cached_tokens, 0);
    EXPECT_EQ(after.samples[0].tokens, fresh(m, second, request).samples[0].tokens);
    EXPECT_NE(after.samples[0].tokens, before.samples[0].tokens);
    EXPECT_THAT(after.samples[0].versions, ElementsAre(VersionRun{0, kVersion2}));
    // The old weights as a new version find nothing either.
    ASSERT_TRUE(runner.engine().swap_weights(m.parameters(), kVersion3, mode).ok());
    const Completion again = runner.complete(request);
    EXPECT_EQ(again.cached_tokens, 0);
    EXPECT_EQ(again.samples[0].tokens, before.samples[0].tokens);
  }
}

struct Swapped {
  Completion done;
  std::vector<int64_t> before;
};

/// A request of 128 tokens whose weights change after 57 of them.
Swapped swap_after_57(const Transformer& m, const Parameters& second, SwapMode mode,
                      Runner& runner) {
  const RequestId id = runner.submit(greedy_request(prompt(6), 128));
  while (runner.streamed(id).size() < 57) runner.step();
  Swapped out;
  out.before = runner.streamed(id);
  EXPECT_TRUE(runner.engine().swap_weights(second, kVersion2, mode).ok());
  runner.run();
  out.done = runner.done(id);
  EXPECT_EQ(out.before, std::vector<int64_t>(out.done.samples[0].tokens.begin(),
                                             out.done.samples[0].tokens.begin() + 57));
  static_cast<void>(m);
  return out;
}

TEST(EngineSwap, InFlightKeepsKeysAndCachesThemNoMore) {
  const Transformer m = model();
  const Parameters second = other_weights(m, 2);
  Runner runner(m);
  const Swapped swapped = swap_after_57(m, second, SwapMode::InFlight, runner);
  EXPECT_THAT(swapped.done.samples[0].versions,
              ElementsAre(VersionRun{0, kVersion1}, VersionRun{57, kVersion2}));
  EXPECT_THAT(swapped.done.samples[0].tokens, SizeIs(128));
  // 133 tokens of one version would have cached 33 blocks.
  GenRequest whole = greedy_request(prompt(6), 1);
  whole.prompt.insert(whole.prompt.end(), swapped.done.samples[0].tokens.begin(),
                      swapped.done.samples[0].tokens.end());
  EXPECT_EQ(runner.complete(whole).cached_tokens, 0);
}

TEST(EngineSwap, ResumeKeepsTokensAndComputesKeysAnew) {
  const Transformer m = model();
  const Parameters second = other_weights(m, 2);
  Runner runner(m);
  const Swapped swapped = swap_after_57(m, second, SwapMode::Resume, runner);
  EXPECT_THAT(swapped.done.samples[0].versions,
              ElementsAre(VersionRun{0, kVersion1}, VersionRun{57, kVersion2}));
  GenRequest rest = greedy_request(prompt(6), 128);
  rest.generated = swapped.before;
  const Completion tail = fresh(m, second, rest);
  const auto& tokens = swapped.done.samples[0].tokens;
  EXPECT_EQ(std::vector<int64_t>(tokens.begin() + 57, tokens.end()), tail.samples[0].tokens);
}

TEST(EngineSwap, DrainEndsWhatHasStartedFirst) {
  const Transformer m = model();
  const Parameters second = other_weights(m, 2);
  Runner runner(m);
  const RequestId started = runner.submit(greedy_request(prompt(6), 12));
  runner.step();
  const RequestId waiting = runner.submit(greedy_request(prompt(6), 12));
  ASSERT_TRUE(runner.engine().swap_weights(second, kVersion2, SwapMode::Drain).ok());
  EXPECT_TRUE(runner.engine().swap_pending());
  EXPECT_EQ(runner.engine().version(), kVersion1);
  runner.run();
  EXPECT_FALSE(runner.engine().swap_pending());
  EXPECT_EQ(runner.done(started).samples[0].tokens,
            fresh(m, m.parameters(), greedy_request(prompt(6), 12)).samples[0].tokens);
  EXPECT_THAT(runner.done(started).samples[0].versions, ElementsAre(VersionRun{0, kVersion1}));
  EXPECT_EQ(runner.done(waiting).samples[0].tokens,
            fresh(m, second, greedy_request(prompt(6), 12)).samples[0].tokens);
  EXPECT_THAT(runner.done(waiting).samples[0].versions, ElementsAre(VersionRun{0, kVersion2}));
}

TEST(EngineSwap, NewerSwapReplacesOneThatWaits) {
  const Transformer m = model();
  Runner runner(m);
  const RequestId id = runner.submit(greedy_request(prompt(6), 12));
  runner.step();
  ASSERT_TRUE(runner.engine().swap_weights(other_weights(m, 2), kVersion2, SwapMode::Drain).ok());
  ASSERT_TRUE(runner.engine().swap_weights(other_weights(m, 3), kVersion3, SwapMode::Resume).ok());
  EXPECT_FALSE(runner.engine().swap_pending());
  runner.run();
  EXPECT_EQ(runner.done(id).samples[0].versions.back().version, kVersion3);
  EXPECT_EQ(runner.engine().version(), kVersion3);
}

/// A checkpoint of `weights` whose tensors `change` may alter.
TensorReader reader_of_weights(const Transformer& m, const Parameters& weights) {
  TensorReader reader;
  auto tensors =
      std::make_shared<std::vector<Parameters::Entry>>(to_checkpoint(m.config(), weights));
  for (const auto& entry : *tensors) {
    reader.tensors.push_back({entry.name, entry.tensor.sizes().vec()});
  }
  reader.read = [tensors](const std::string& name) -> Result<at::Tensor> {
    for (const auto& entry : *tensors) {
      if (entry.name == name) return entry.tensor;
    }
    return error(Code::NotFound, "no tensor {}", name);
  };
  return reader;
}

TEST(EngineSwap, FailedTransferLeavesTheOldWeightsServing) {
  const Transformer m = model();
  const Parameters second = other_weights(m, 2);
  Runner runner(m);
  const GenRequest request = drawn_request(prompt(9), 30);
  const Completion want = fresh(m, m.parameters(), request);
  const RequestId id = runner.submit(request);
  while (runner.streamed(id).size() < 10) runner.step();
  const auto fails = [&](const TensorReader& reader, const char* says) {
    const Status status = runner.engine().swap_weights(reader, kVersion2, SwapMode::InFlight);
    EXPECT_THAT(status.message(), HasSubstr(says));
    EXPECT_EQ(runner.engine().version(), kVersion1);
  };
  TensorReader cut = reader_of_weights(m, second);
  int reads = 0;
  const auto read = cut.read;
  cut.read = [&](const std::string& name) -> Result<at::Tensor> {
    if (++reads == 5) return error(Code::Unavailable, "the sender is gone");
    return read(name);
  };
  fails(cut, "the sender is gone");
  TensorReader missing = reader_of_weights(m, second);
  const std::string gone = missing.tensors.back().name;
  missing.tensors.pop_back();
  fails(missing, gone.c_str());
  TensorReader bent = reader_of_weights(m, second);
  bent.tensors[3].shape[0] += 1;
  fails(bent, bent.tensors[3].name.c_str());
  runner.run();
  EXPECT_EQ(runner.done(id).samples[0].tokens, want.samples[0].tokens);
  EXPECT_EQ(runner.done(id).samples[0].logprobs, want.samples[0].logprobs);
  EXPECT_THAT(runner.done(id).samples[0].versions, ElementsAre(VersionRun{0, kVersion1}));
  ASSERT_TRUE(
      runner.engine().swap_weights(reader_of_weights(m, second), kVersion2, SwapMode::Drain).ok());
  EXPECT_EQ(runner.complete(request).samples[0].tokens,
            fresh(m, second, request).samples[0].tokens);
}

TEST(EngineSwap, WrongTensorsAreRefusedByName) {
  const Transformer m = model();
  Runner runner(m);
  const auto refused = [&](const Parameters& weights) {
    return runner.engine().swap_weights(weights, kVersion2, SwapMode::Resume).message();
  };
  std::vector<ParameterSpec> specs = parameter_specs(m.config());
  specs[2].shape[0] += 1;
  EXPECT_THAT(refused(Parameters::allocate(specs)), HasSubstr(specs[2].name));
  specs = parameter_specs(m.config());
  EXPECT_THAT(refused(Parameters::allocate(specs, at::kBFloat16)), HasSubstr("BFloat16"));
  const std::string last = specs.back().name;
  specs.pop_back();
  EXPECT_THAT(refused(Parameters::allocate(specs)), HasSubstr("lack '" + last));
  specs = parameter_specs(m.config());
  specs.push_back({"surplus", {3}, ParameterInit::Zero, ""});
  EXPECT_THAT(refused(Parameters::allocate(specs)), HasSubstr("surplus"));
  EXPECT_EQ(runner.engine().swap_weights(m.parameters(), kVersion1, SwapMode::Drain).code(),
            Code::AlreadyExists);
}

/// Multiplies by copies of the weights it was made from, as packed weights are.
class CopyingOp : public LinearOp {
 public:
  explicit CopyingOp(const Transformer& model) : head_(model.head().weight.clone()) {}
  at::Tensor apply(const Linear& layer, const at::Tensor& x) const override {
    return at::linear(x, layer.name == "lm_head" ? head_ : layer.weight);
  }

 private:
  at::Tensor head_;
};

TEST(EngineSwap, PackedWeightsAreMadeAnewAndATiedHeadFollowsTheEmbedding) {
  for (const char* name : {"llama", "gemma2"}) {
    const Transformer m = model(name);
    const Parameters second = other_weights(m, 2);
    EngineOptions o = options();
    int made = 0;
    bool fail = false;
    o.linear = [&](const Transformer& of) -> Result<std::shared_ptr<const LinearOp>> {
      if (fail) return error(Code::ResourceExhausted, "no memory to pack");
      ++made;
      return std::shared_ptr<const LinearOp>(std::make_shared<CopyingOp>(of));
    };
    Runner runner(m, o);
    EXPECT_EQ(made, 1);
    const GenRequest request = greedy_request(prompt(9), 12);
    const Completion before = runner.complete(request);
    fail = true;
    EXPECT_EQ(runner.engine().swap_weights(second, kVersion2, SwapMode::Drain).code(),
              Code::ResourceExhausted);
    EXPECT_EQ(runner.complete(request).samples[0].tokens, before.samples[0].tokens);
    fail = false;
    ASSERT_TRUE(runner.engine().swap_weights(second, kVersion2, SwapMode::Drain).ok());
    EXPECT_EQ(made, 2);
    EXPECT_EQ(runner.complete(request).samples[0].tokens,
              fresh(m, second, request).samples[0].tokens);
  }
}

TEST(EngineSwap, AbortReturnsTokensWithTheirLogprobs) {
  Runner runner(model());
  const RequestId id = runner.submit(drawn_request(prompt(6), 128));
  while (runner.streamed(id).size() < 57) runner.step();
  ASSERT_TRUE(runner.engine().abort(id).ok());
  const Sample& sample = runner.done(id).samples[0];
  EXPECT_THAT(sample.tokens, SizeIs(57));
  EXPECT_THAT(sample.logprobs, SizeIs(57));
  EXPECT_THAT(sample.entropies, SizeIs(57));
  EXPECT_EQ(sample.reason, FinishReason::Abort);
  EXPECT_EQ(runner.engine().stats().free_blocks, 64);
}

}  // namespace
}  // namespace sluice
