#include "inference/cuda/device_executor.h"

#include "inference/cuda/device_support.h"
#include "inference/cuda/plain_backend.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <gmock/gmock.h>

namespace sluice {
namespace {

using namespace engine_support;  // NOLINT(google-build-using-namespace)
using device_support::expect_same;
using device_support::on;
using device_support::on_the_cpu;
using device_support::run_mixture;

std::shared_ptr<DeviceExecutor> plain_executor(DeviceOptions options = {}) {
  return std::make_shared<DeviceExecutor>(std::make_shared<PlainBackend>(), options);
}

class DeviceExecutorModels : public testing::TestWithParam<const char*> {};

TEST_P(DeviceExecutorModels, GenerateAsOnTheCpu) {
  const Transformer m = model(GetParam());
  const auto executor = plain_executor();
  Runner runner(m, on(executor));
  expect_same(run_mixture(runner), on_the_cpu(m, m.parameters()));
  const bool asks_the_host =
      m.config().experts.count > 0 || m.config().layers.front().mixer != MixerKind::Attention;
  EXPECT_EQ(executor->stats().replays > 0, !asks_the_host);
  EXPECT_GT(executor->stats().plain, 0) << "prompts are not recorded";
}

INSTANTIATE_TEST_SUITE_P(Architectures, DeviceExecutorModels,
                         testing::Values("llama", "mistral", "qwen3", "gemma2", "gpt2", "qwen3_moe",
                                         "qwen3_next", "rope_dynamic", "rope_yarn"),
                         [](const auto& info) { return std::string(info.param); });

TEST(DeviceExecutor, RecordsOneStepOfEachBucket) {
  const Transformer m = model();
  const auto executor = plain_executor();
  Runner runner(m, on(executor));
  GenRequest request = greedy_request(prompt(5), 6);
  request.sampling.n = 3;
  runner.complete(request);
  // Steps of three sequences of 6 to 10 tokens: blocks of 4, so tables of two and then four.
  EXPECT_EQ(executor->stats().captures, 2);
  EXPECT_EQ(executor->stats().replays, 5);
  EXPECT_EQ(executor->stats().plain, 1);
  request.prompt = prompt(5, 2);  // nothing of it is cached
  runner.complete(request);
  EXPECT_EQ(executor->stats().captures, 2);
  EXPECT_EQ(executor->stats().replays, 10);
}

TEST(DeviceExecutor, RunsPlainlyWhatIsTooLargeOrNotWantedRecorded) {
  const Transformer m = model();
  const auto want = on_the_cpu(m, m.parameters());
  for (const DeviceOptions options : {DeviceOptions{false, 256}, DeviceOptions{true, 4}}) {
    const auto executor = plain_executor(options);
    Runner runner(m, on(executor));
    expect_same(run_mixture(runner), want);
    EXPECT_EQ(executor->stats().captures > 0, options.graphs);
    EXPECT_GT(executor->stats().plain, executor->stats().replays);
  }
}

/// A device that cannot record.
class Unrecordable : public PlainBackend {
  class Graph : public DeviceGraph {
    Status capture(std::function<void()> /*work*/) override {
      return error(Code::Internal, "no recording today");
    }
    Status replay() override { return error(Code::Internal, "nothing was recorded"); }
  };
  [[nodiscard]] std::unique_ptr<DeviceGraph> make_graph() const override {
    return std::make_unique<Graph>();
  }
};

TEST(DeviceExecutor, GoesOnPlainlyWhenRecordingFails) {
  const Transformer m = model();
  const auto executor = std::make_shared<DeviceExecutor>(std::make_shared<Unrecordable>());
  Runner runner(m, on(executor));
  expect_same(run_mixture(runner), on_the_cpu(m, m.parameters()));
  EXPECT_EQ(executor->stats().captures, 1) << "tried once";
  EXPECT_EQ(executor->stats().replays, 0);
}

TEST(DeviceExecutor, PreemptionAndForksShareTheBlocksRightly) {
  const Transformer m = model();
  EngineOptions tight = on(plain_executor());
  tight.blocks = 12;
  EngineOptions cpu = options();
  cpu.blocks = 12;
  Runner runner(m, tight);
  Runner reference(m, cpu);
  std::vector<std::pair<RequestId, RequestId>> ids;
  for (uint64_t i = 0; i < 4; ++i) {
    GenRequest request = drawn_request(prompt(11, 30 + i), 20, i);
    request.sampling.n = i == 1 ? 2 : 1;
    ids.emplace_back(runner.submit(request), reference.submit(request));
  }
  runner.run();
  reference.run();
  EXPECT_GT(runner.engine().stats().scheduler.preemptions, 0);
  for (const auto& [own, other] : ids) expect_same({runner.done(own)}, {reference.done(other)});
}

TEST(DeviceExecutor, EnginesRefuseWhatADeviceDoesNotStore) {
  const Transformer m = model();
  VirtualClock clock;
  EngineOptions o = on(plain_executor());
  o.kv_format = KvFormat::Int8;
  const auto engine = Engine::create(m, o, kVersion1, clock);
  EXPECT_EQ(engine.status().code(), Code::InvalidArgument);
  EXPECT_THAT(engine.status().message(), testing::HasSubstr("int8"));
}

/// Every value of every weight, to compare later.
std::vector<at::Tensor> copies(const Parameters& weights) {
  std::vector<at::Tensor> out;
  for (const auto& entry : weights.entries()) out.push_back(entry.tensor.clone());
  return out;
}

TEST(DeviceExecutor, NewWeightsGoIntoTheTensorsThatServeAndRecordsStay) {
  const Transformer m = model();
  const Parameters second = other_weights(m, 2);
  const auto executor = plain_executor();
  Runner runner(m, on(executor));
  run_mixture(runner);
  const auto captures = executor->stats().captures;
  const auto before = copies(m.parameters());
  std::vector<const void*> places;
  for (const auto& entry : runner.engine().model().parameters().entries()) {
    places.push_back(entry.tensor.const_data_ptr());
  }
  ASSERT_TRUE(runner.engine().swap_weights(second, kVersion2, SwapMode::Resume).ok());
  expect_same(run_mixture(runner), on_the_cpu(m, second));
  EXPECT_EQ(executor->stats().captures, captures);
  size_t i = 0;
  for (const auto& entry : runner.engine().model().parameters().entries()) {
    EXPECT_EQ(entry.tensor.const_data_ptr(), places[i]) << entry.name;
    EXPECT_TRUE(m.parameters().at(entry.name).equal(before[i++])) << "the caller's " << entry.name;
  }
}

TEST(DeviceExecutor, WeightsThatDoNotArriveLeaveTheOldOnesServing) {
  const Transformer m = model();
  Runner runner(m, on(plain_executor()));
  const auto want = run_mixture(runner);
  const auto before = copies(runner.engine().model().parameters());
  // All names, shapes and types are right, but there is nothing to copy from.
  const Parameters empty = Parameters::allocate(parameter_specs(m.config()), at::kFloat, at::kMeta);
  const Status status = runner.engine().swap_weights(empty, kVersion2, SwapMode::InFlight);
  EXPECT_EQ(status.code(), Code::ResourceExhausted);
  EXPECT_THAT(status.message(), testing::Not(testing::HasSubstr("\n")));
  EXPECT_EQ(runner.engine().version(), kVersion1);
  size_t i = 0;
  for (const auto& entry : runner.engine().model().parameters().entries()) {
    EXPECT_TRUE(entry.tensor.equal(before[i++])) << entry.name;
  }
  expect_same(run_mixture(runner), want);
}

TEST(DeviceExecutor, WeightsThatCannotBeCopiedInPlaceServeWhereTheyAre) {
  const Transformer m = model();
  DeviceExecutor executor(std::make_shared<PlainBackend>());
  std::unique_ptr<Transformer> serving;
  {
    // Such tensors refuse to be written to outside of this mode.
    const c10::InferenceMode frozen;
    auto placed = executor.place(m.config(), m.parameters());
    ASSERT_TRUE(placed.ok());
    serving = std::make_unique<Transformer>(m.config(), *std::move(placed));
  }
  const Parameters second = other_weights(m, 2);
  executor.install(serving, std::make_unique<Transformer>(m.config(), second));
  for (const auto& entry : second.entries()) {
    EXPECT_TRUE(serving->parameters().at(entry.name).equal(entry.tensor)) << entry.name;
  }
}

/// Multiplies by copies of the weights it was made from, as packed weights are.
class CopiedWeightsOp : public LinearOp {
 public:
  explicit CopiedWeightsOp(const Transformer& model) : head_(model.head().weight.clone()) {}
  at::Tensor apply(const Linear& layer, const at::Tensor& x) const override {
    return at::linear(x, layer.name == "lm_head" ? head_ : layer.weight);
  }

 private:
  at::Tensor head_;
};

TEST(DeviceExecutor, OpsWithCopiesOfTheWeightsAreRecordedAnew) {
  const Transformer m = model();
  const Parameters second = other_weights(m, 2);
  const auto executor = plain_executor();
  EngineOptions o = on(executor);
  o.linear = [](const Transformer& of) -> Result<std::shared_ptr<const LinearOp>> {
    return std::shared_ptr<const LinearOp>(std::make_shared<CopiedWeightsOp>(of));
  };
  Runner runner(m, o);
  run_mixture(runner);
  const auto captures = executor->stats().captures;
  ASSERT_TRUE(runner.engine().swap_weights(second, kVersion2, SwapMode::Drain).ok());
  expect_same(run_mixture(runner), on_the_cpu(m, second));
  EXPECT_EQ(executor->stats().captures, 2 * captures);
}

}  // namespace
}  // namespace sluice
