// Many threads that ask, stream, leave and ask nonsense at random; every one gets what it should,
// and nothing is left. SLUICE_SOAK=N: N requests of each thread.
#include "dataflow/base/random.h"
#include "inference/server/server_support.h"

#include <gmock/gmock.h>

#include <atomic>
#include <cstdlib>
#include <thread>

namespace sluice::server_support {
namespace {

using nlohmann::json;

class Visitor {
 public:
  Visitor(TestServer& server, uint64_t seed, std::atomic<int64_t>& whole)
      : server_(server), key_(seed), whole_(whole) {}

  void visit(int times) {
    for (int i = 0; i < times && !::testing::Test::HasFailure(); ++i) {
      switch (draw(6)) {
        case 0:
          return_stream();
          break;
        case 1:
          leave();
          break;
        case 2:
          nonsense();
          break;
        case 3:
          look();
          break;
        default:
          ask();
      }
    }
  }

 private:
  uint64_t draw(uint64_t below) { return key_.word(counter_++) % below; }

  json any() {
    json more{{"max_tokens", 1 + draw(30)}, {"n", 1 + draw(3)}, {"priority", draw(3)}};
    more["prompt"] = std::string(1 + draw(60), static_cast<char>('a' + draw(4)));
    if (draw(3) == 0) more["temperature"] = 1;
    if (draw(3) == 0) more["logprobs"] = 2;
    if (draw(4) == 0) more["stop"] = {"th", "e c"};
    if (draw(5) == 0) more["repetition_penalty"] = 1.2;
    return completion(more);
  }

  void ask() {
    const json request = any();
    const Answer answer = server_.post("/v1/completions", request);
    if (answer.status == 429) return;
    ASSERT_EQ(answer.status, 200) << answer.text;
    ASSERT_EQ(answer.json()["choices"].size(), request["n"].get<size_t>());
    ++whole_;
  }

  void return_stream() {
    json request = any();
    request["stream"] = true;
    const Answer answer = server_.post("/v1/completions", request);
    if (answer.status == 429) return;
    ASSERT_EQ(answer.status, 200) << answer.text;
    size_t ended = 0;
    for (const json& event : answer.events()) {
      if (!event["choices"][0]["finish_reason"].is_null()) ++ended;
    }
    ASSERT_EQ(ended, request["n"].get<size_t>());
    ++whole_;
  }

  void leave() {
    json request = any();
    request["stream"] = draw(2) == 0;
    request["max_tokens"] = 3000;
    request["stop"] = json();
    const size_t enough = draw(800);
    int looks = 0;
    server_.post_and_leave("/v1/completions", request, [&](const std::string& got) {
      return got.size() > enough || ++looks > 20 || !got.empty();
    });
  }

  void nonsense() {
    json request = any();
    request[draw(2) == 0 ? "n" : "nn"] = -1;
    ASSERT_EQ(server_.post("/v1/completions", request).status, 400);
  }

  void look() {
    ASSERT_EQ(server_.get("/health").status, 200);
    ASSERT_EQ(server_.get("/metrics").status, 200);
  }

  TestServer& server_;
  RandomKey key_;
  uint64_t counter_ = 0;
  std::atomic<int64_t>& whole_;
};

TEST(LlmServerSoak, ManyThreadsAskAndLeave) {
  const char* wanted = std::getenv("SLUICE_SOAK");
  const int times = wanted == nullptr ? 8 : std::max(8, std::atoi(wanted));
  LlmServerOptions options;
  options.max_queue = 12;
  TestServer server(options, [](EngineOptions& o) {
    o.blocks = 260;
    o.scheduler.token_budget = 64;
    o.scheduler.max_sequences = 8;
  });
  std::atomic<int64_t> whole{0};
  {
    std::vector<std::jthread> threads;
    for (uint64_t i = 0; i < 8; ++i) {
      threads.emplace_back([&, i] { Visitor(server, i, whole).visit(times); });
    }
  }
  EXPECT_GT(whole, times);
  EXPECT_TRUE(server.settled());
}

}  // namespace
}  // namespace sluice::server_support
