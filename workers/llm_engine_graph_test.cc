// LlmEngine in a graph, by the real launcher: threads, channels and all.
#include "dataflow/placement/local_launcher.h"
#include "models/io/checkpoint.h"
#include "workers/llm_engine.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <atomic>

namespace sluice {
namespace {

const char* const kTiny = SLUICE_SOURCE_DIR "/models/io/testdata/tiny_llama";

std::shared_ptr<Weights> tiny_weights(int64_t step, float factor) {
  const auto checkpoint = Checkpoint::open(kTiny);
  SLUICE_CHECK(checkpoint.ok()) << checkpoint.status().message();
  auto out = std::make_shared<Weights>();
  for (const CheckpointTensor& stored : (*checkpoint)->tensors()) {
    at::Tensor tensor = (*checkpoint)->read(stored.name, at::kFloat)->clone();
    if (stored.name == "model.norm.weight") tensor.mul_(factor);
    out->tensors.emplace_back(stored.name, tensor);
  }
  out->tag = {1, 0, step, out->digest()};
  return out;
}

/// What the asker saw; written by its thread, read after the end.
struct Seen {
  std::vector<int64_t> first_versions;  ///< of each answer
  std::vector<int64_t> last_versions;
  int64_t failed = 0;
  std::atomic<int64_t> answers{0};
};

/// Publishes version 0 at once, and version 1 when some answers have come.
class TwoVersions final : public Worker {
 public:
  TwoVersions(std::shared_ptr<Seen> seen, LatestPublisher<Weights> publisher)
      : seen_(std::move(seen)), publisher_(std::move(publisher)) {}
  Result<StepResult> step() override {
    if (draining()) {
      publisher_.close();
      return StepResult::finished();
    }
    if (next_ > 1 || (next_ == 1 && seen_->answers < 4)) {
      return StepResult::idle(RealClock::instance().now() + kMillisecond);
    }
    auto weights = tiny_weights(next_, next_ == 0 ? 1.0F : -1.0F);
    const VersionTag tag = weights->tag;
    RETURN_IF_ERROR(publisher_.publish(std::move(weights), tag));
    ++next_;
    return StepResult::progress();
  }

 private:
  std::shared_ptr<Seen> seen_;
  LatestPublisher<Weights> publisher_;
  int64_t next_ = 0;
};

struct Publisher {
  static constexpr std::string_view kRole = "trainer";
  using Publishes = Ports<Latest<Weights>>;
  std::shared_ptr<Seen> seen;
  Result<std::unique_ptr<Worker>> make(WorkerContext& context) const {
    ASSIGN_OR_RETURN(auto publisher, context.publisher<Weights>());
    return std::unique_ptr<Worker>(std::make_unique<TwoVersions>(seen, std::move(publisher)));
  }
};

/// Keeps two questions under way until an answer came wholly from version 1.
class AskingWorker final : public Worker {
 public:
  using Client = ServiceClient<GenRequest, Completion>;
  AskingWorker(std::shared_ptr<Seen> seen, RunControl& run, Client client)
      : seen_(std::move(seen)), run_(run), client_(std::move(client)) {}

  Result<StepResult> step() override {
    bool moved = false;
    while (auto call = client_.try_collect()) {
      --open_;
      moved = true;
      if (!call->status.ok() || call->response.samples.empty()) {
        ++seen_->failed;
        continue;
      }
      const auto& versions = call->response.samples[0].versions;
      seen_->first_versions.push_back(versions.front().version.step);
      seen_->last_versions.push_back(versions.back().version.step);
      ++seen_->answers;
      if (versions.front().version.step == 1) run_.finish();
    }
    if (draining()) {
      client_.close();
      return StepResult::finished();
    }
    while (open_ < 2) {
      auto call = std::make_unique<Client::Call>();
      call->request.prompt = {40, 41, 42, 43 + asked_ % 50};
      call->request.sampling.temperature = 0;
      call->request.sampling.ignore_eos = true;
      call->request.sampling.max_tokens = 24;
      if (!client_.try_ask(call)) break;
      ++open_;
      ++asked_;
      moved = true;
    }
    return moved ? StepResult::progress() : StepResult::idle();
  }

 private:
  std::shared_ptr<Seen> seen_;
  RunControl& run_;
  Client client_;
  int64_t open_ = 0;
  int64_t asked_ = 0;
};

struct Asker {
  static constexpr std::string_view kRole = "rollout";
  using Asks = Ports<Service<GenRequest, Completion>>;
  std::shared_ptr<Seen> seen;
  Result<std::unique_ptr<Worker>> make(WorkerContext& context) const {
    ASSIGN_OR_RETURN(auto client, (context.client<GenRequest, Completion>()));
    return std::unique_ptr<Worker>(
        std::make_unique<AskingWorker>(seen, context.run(), std::move(client)));
  }
};

TEST(LlmEngineInAGraph, AnswersWhileWeightsChange) {
  for (const Swap swap : {Swap::Resume, Swap::InFlight, Swap::Drain}) {
    SCOPED_TRACE(static_cast<int>(swap));
    auto seen = std::make_shared<Seen>();
    Graph g{"tiny"};
    auto generate = g.service<GenRequest, Completion>("generate").batch(up_to(4096));
    auto weights = g.latest<Weights>("weights").swap(swap);
    g.add("asker", Asker{seen}).asks(generate);
    g.add("engine", LlmEngine{.model = kTiny, .kv_mib = 1, .block_size = 4})
        .serves(generate)
        .follows(weights);
    g.add("trainer", Publisher{seen}).publishes(weights);
    const Placement placement = Placement::one_process();
    ASSERT_TRUE(g.check(placement).ok()) << g.check(placement).message();
    Waker waker;
    MetricRegistry metrics;
    RunControl control({.run = 1, .incarnation = 0, .directory = "", .max_steps = -1});
    control.watch(&waker);
    LocalLauncher launcher(
        g, placement,
        {.clock = RealClock::instance(), .metrics = metrics, .run = control, .seed = 5});
    launcher.control().set_waker(&waker);
    ASSERT_TRUE(launcher.start().ok());
    const TimeNs deadline = RealClock::instance().now() + 60 * kSecond;
    while (!control.finished() && !launcher.control().outcome()) {
      const auto epoch = waker.epoch();
      ASSERT_LT(RealClock::instance().now(), deadline);
      waker.wait(epoch, RealClock::instance().now() + 100 * kMillisecond);
    }
    const Status down = launcher.control().shutdown(10 * kSecond);
    EXPECT_TRUE(down.ok()) << down.message();
    EXPECT_EQ(seen->failed, 0);
    ASSERT_GE(seen->first_versions.size(), 5U);
    EXPECT_EQ(seen->first_versions.front(), 0);
    EXPECT_EQ(seen->first_versions.back(), 1);
    for (size_t i = 0; i < seen->first_versions.size(); ++i) {
      EXPECT_LE(seen->first_versions[i], seen->last_versions[i]);
      if (swap == Swap::Drain) {
        EXPECT_EQ(seen->first_versions[i], seen->last_versions[i]);
      }
    }
    double free = -1;
    for (const MetricSample& sample : metrics.snapshot()) {
      if (sample.name == "sluice_llm_free_blocks") free = sample.value;
    }
    EXPECT_GT(free, 0);
  }
}

}  // namespace
}  // namespace sluice
