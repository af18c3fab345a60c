// What the server refuses, and that it lives on with every block free (see ~TestServer).
#include "inference/server/server_support.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace sluice::server_support {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

struct Refusal {
  const char* what;
  json change;
  const char* message;
};

void PrintTo(const Refusal& r, std::ostream* out) { *out << r.what; }

class Refused : public ::testing::TestWithParam<Refusal> {};

TEST_P(Refused, InOneLineAndTheServerLivesOn) {
  TestServer server;
  const bool is_chat = GetParam().change.contains("messages");
  const Answer answer = is_chat ? server.post("/v1/chat/completions", chat(GetParam().change))
                                : server.post("/v1/completions", completion(GetParam().change));
  EXPECT_EQ(answer.status, 400) << answer.text;
  EXPECT_THAT(answer.error(), HasSubstr(GetParam().message));
  EXPECT_EQ(answer.error().find('\n'), std::string::npos);
  EXPECT_EQ(answer.json()["error"]["type"], "invalid_request_error");
  EXPECT_EQ(server.post("/v1/completions", completion()).status, 200);
}

INSTANTIATE_TEST_SUITE_P(
    LlmServer, Refused,
    ::testing::Values(
        Refusal{"unknown", {{"temprature", 1}}, "unknown field 'temprature', did you mean"},
        Refusal{"type", {{"temperature", "hot"}}, "'temperature' must be a number, not a string"},
        Refusal{"fraction", {{"max_tokens", 1.5}}, "'max_tokens' must be a whole number"},
        Refusal{"negative", {{"max_tokens", -1}}, "max_tokens"},
        Refusal{"zero", {{"max_tokens", 0}}, "max_tokens"},
        Refusal{"huge", {{"max_tokens", 1e12}}, "'max_tokens'"},
        Refusal{"huge_int", {{"max_tokens", 5'000'000'000}}, "'max_tokens' must lie in"},
        Refusal{"n0", {{"n", 0}}, "n must lie in"},
        Refusal{"n_huge", {{"n", 1'000'000}}, "n must lie in"},
        Refusal{"n_negative", {{"n", -1}}, "n must lie in"},
        Refusal{"stop_id", {{"stop_token_ids", {277}}}, "token 277, the vocabulary has 277"},
        Refusal{"stop_id_negative", {{"stop_token_ids", {-1}}}, "token -1"},
        Refusal{"bias_id", {{"logit_bias", {{"5000", 1}}}}, "token 5000"},
        Refusal{"bias_key", {{"logit_bias", {{"x", 1}}}}, "'x'"},
        Refusal{"allowed", {{"allowed_token_ids", {300}}}, "token 300"},
        Refusal{"empty", {{"prompt", ""}}, "the prompt is empty"},
        Refusal{"empty_ids", {{"prompt", json::array()}}, "the prompt is empty"},
        Refusal{"no_prompt", {{"prompt", nullptr}}, "'prompt' is missing"},
        Refusal{"prompt_type", {{"prompt", 5}}, "'prompt' must be text"},
        Refusal{"mixed", {{"prompt", {1, "x"}}}, "'prompt' must be text"},
        Refusal{"prompt_id", {{"prompt", {5, 277}}}, "token 277"},
        Refusal{"too_long", {{"prompt", std::vector<int>(5000, 40)}}, "5000 tokens"},
        Refusal{"million", {{"prompt", std::vector<int>(1'000'000, 40)}}, "1000000 tokens"},
        Refusal{"million_bytes", {{"prompt", std::string(1'000'000, 'a')}}, "1000000 bytes"},
        Refusal{"choices", {{"prompt", std::vector<std::string>(40, "a")}, {"n", 50}}, "choices"},
        Refusal{"top_k", {{"top_k", -2}}, "top_k"},
        Refusal{"top_k_huge", {{"top_k", 3'000'000'000}}, "'top_k' must lie in"},
        Refusal{"priority", {{"priority", 1e300}}, "'priority' must be a whole number"},
        Refusal{"bias_huge", {{"logit_bias", {{"5", 1e300}}}}, "[-100, 100]"},
        Refusal{"penalty_huge", {{"repetition_penalty", 1e300}}, "is too large"},
        Refusal{"top_p", {{"top_p", 0}}, "top_p"},
        Refusal{"temperature", {{"temperature", -1}}, "temperature"},
        Refusal{"stop_type", {{"stop", 4}}, "'stop'"},
        Refusal{"stop_empty", {{"stop", ""}}, "stop string"},
        Refusal{"min_max", {{"min_tokens", 9}}, "min_tokens 9"},
        Refusal{"logprobs", {{"logprobs", 21}}, "'logprobs'"},
        Refusal{"suffix", {{"suffix", "x"}}, "'suffix' is not supported"},
        Refusal{"best_of", {{"best_of", 4}}, "'best_of' is not supported"},
        Refusal{"options", {{"stream_options", {{"include_usage", true}}}}, "'stream_options'"},
        Refusal{"messages", {{"messages", "hi"}}, "'messages' must be a list"},
        Refusal{"no_messages", {{"messages", json::array()}}, "'messages' must be a list"},
        Refusal{"role", {{"messages", {{{"content", "x"}}}}}, "'role'"},
        Refusal{"image",
                {{"messages", {{{"role", "user"}, {"content", {{{"type", "image_url"}}}}}}}},
                "type 'text'"}),
    [](const auto& info) { return info.param.what; });

TEST(LlmServerRefusals, WhatIsNoJson) {
  TestServer server;
  for (const std::string body : {"", "{", "[]", "5", "{\"prompt\": \"a\", \"prompt\": \"b\"}",
                                 "{\"prompt\": \"\xff\"}", "{\"max_tokens\": NaN}"}) {
    const Answer answer = server.post_text("/v1/completions", body);
    EXPECT_EQ(answer.status, 400) << body;
    EXPECT_THAT(answer.error(), HasSubstr("JSON")) << body;
  }
  const std::string deep(100'000, '[');
  EXPECT_EQ(server.post_text("/v1/completions", deep).status, 400);
}

TEST(LlmServerRefusals, OtherModelsAndPlaces) {
  TestServer server;
  Answer answer = server.post("/v1/completions", completion({{"model", "gpt-4"}}));
  EXPECT_EQ(answer.status, 404);
  EXPECT_THAT(answer.error(), HasSubstr("'tiny' is served"));
  answer = server.get("/v1/nothing");
  EXPECT_EQ(answer.status, 404);
  EXPECT_THAT(answer.error(), HasSubstr("/v1/nothing"));
  EXPECT_EQ(server.get("/v1/completions").status, 404);
  EXPECT_EQ(server.post_text("/v1/completions", std::string(size_t{17} << 20, ' ')).status, 413);
}

TEST(LlmServerRefusals, WhatCanNeverFit) {
  TestServer server({}, [](EngineOptions& o) { o.blocks = 4; });
  const Answer answer =
      server.post("/v1/completions", completion({{"max_tokens", 1000}, {"n", 4}}));
  EXPECT_EQ(answer.status, 400) << answer.text;
  EXPECT_EQ(server.post("/v1/completions", completion()).status, 200);
}

TEST(LlmServerRefusals, WithoutTheKey) {
  LlmServerOptions options;
  options.api_key = "secret";
  TestServer server(options);
  const std::string body = completion().dump();
  for (const char* wrong : {"", "secret", "Bearer secre", "Bearer secrets", "Bearer xxxxxx"}) {
    const Answer answer = server.post_text("/v1/completions", body, wrong);
    EXPECT_EQ(answer.status, 401) << wrong;
    EXPECT_EQ(answer.json()["error"]["type"], "authentication_error");
  }
  EXPECT_EQ(server.post_text("/tokenize", "{\"prompt\": \"a\"}").status, 401);
  EXPECT_EQ(server.get("/v1/models").status, 401);
  EXPECT_EQ(server.get("/health").status, 200);
  EXPECT_EQ(server.post_text("/v1/completions", body, "Bearer secret").status, 200);
}

TEST(LlmServerRefusals, OpenAddressesNeedAKey) {
  TinyModel tiny = tiny_model();
  LlmServerOptions options;
  options.port = 0;
  options.host = "0.0.0.0";
  const auto server = LlmServer::start(std::move(tiny.engine), std::move(tiny.model), options);
  ASSERT_FALSE(server.ok());
  EXPECT_THAT(server.status().message(), HasSubstr("--api-key"));
}

TEST(LlmServerRefusals, PortsInUse) {
  TestServer first;
  TinyModel tiny = tiny_model();
  LlmServerOptions options;
  options.port = first.server().port();
  const auto second = LlmServer::start(std::move(tiny.engine), std::move(tiny.model), options);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.status().message(), HasSubstr(std::to_string(options.port)));
}

TEST(LlmServerRefusals, TooManyWaiting) {
  LlmServerOptions options;
  options.max_queue = 2;
  TestServer server(options, [](EngineOptions& o) { o.scheduler.max_sequences = 1; });
  std::atomic<int> fine{0}, refused{0}, other{0};
  {
    std::vector<std::jthread> clients;
    for (int i = 0; i < 12; ++i) {
      clients.emplace_back([&] {
        const Answer answer = server.post("/v1/completions", completion({{"max_tokens", 1500}}));
        if (answer.status == 429) {
          EXPECT_EQ(answer.retry_after, "1");
        }
        ++(answer.status == 200 ? fine : answer.status == 429 ? refused : other);
      });
    }
  }
  EXPECT_GT(fine, 0);
  EXPECT_GT(refused, 0);
  EXPECT_EQ(other, 0);
  EXPECT_EQ(server.metric("sluice_server_turned_away_total"), refused);
}

TEST(LlmServerRefusals, AClientThatLeavesFreesItsBlocks) {
  for (const bool stream : {true, false}) {
    TestServer server;
    const json request = completion({{"max_tokens", 4000}, {"n", 4}, {"stream", stream}});
    server.post_and_leave("/v1/completions", request, [&](const std::string& got) {
      return stream ? got.size() > 2000 : server.metric("vllm:generation_tokens_total") > 40;
    });
    ASSERT_TRUE(server.settled());
    EXPECT_LT(server.metric("vllm:generation_tokens_total"), 16000) << "it was not run to its end";
    EXPECT_EQ(server.post("/v1/completions", completion()).status, 200);
  }
}

TEST(LlmServerRefusals, ASlowReaderHoldsNobodyUp) {
  TestServer server;
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int small = 1024;
  ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(server.server().port()));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const std::string body =
      completion({{"max_tokens", 4000}, {"stream", true}, {"logprobs", 20}}).dump();
  const std::string request =
      fmt::format("POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{}",
                  body.size(), body);
  ASSERT_GT(::send(fd, request.data(), request.size(), MSG_NOSIGNAL), 0);
  ASSERT_TRUE(
      TestServer::eventually([&] { return server.metric("vllm:generation_tokens_total") > 0; }));
  EXPECT_EQ(server.post("/v1/completions", completion()).status, 200);
  // It reads nothing, and yet its request gets on.
  EXPECT_TRUE(
      TestServer::eventually([&] { return server.metric("vllm:generation_tokens_total") > 3000; }));
  ::close(fd);
}

TEST(LlmServerRefusals, MoreConnectionsThanThereIsRoomFor) {
  LlmServerOptions options;
  options.max_connections = 4;
  TestServer server(options);
  std::vector<int> idle;
  for (int i = 0; i < 4; ++i) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(server.server().port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    idle.push_back(fd);
  }
  const Answer answer = server.get("/health");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.retry_after, "1");
  for (const int fd : idle) ::close(fd);
  EXPECT_TRUE(TestServer::eventually([&] { return server.get("/health").status == 200; }));
}

TEST(LlmServerRefusals, DrainingFinishesWhatIsUnderWay) {
  TestServer server;
  Answer answer;
  {
    std::jthread client([&] {
      answer = server.post("/v1/completions", completion({{"max_tokens", 2000}, {"stream", true}}));
    });
    ASSERT_TRUE(
        TestServer::eventually([&] { return server.metric("vllm:generation_tokens_total") > 10; }));
    server.server().drain();
  }
  EXPECT_EQ(answer.events().back()["choices"][0]["finish_reason"], "length");
  EXPECT_TRUE(TestServer::eventually([&] { return server.server().drained(); }));
  EXPECT_EQ(server.get("/health").status, -1) << "nobody listens any more";
}

TEST(LlmServerRefusals, StoppingCutsWhatIsUnderWay) {
  TestServer server;
  std::jthread client([&] {
    server.post("/v1/completions", completion({{"max_tokens", 4000}, {"n", 8}}));
  });
  ASSERT_TRUE(
      TestServer::eventually([&] { return server.metric("vllm:generation_tokens_total") > 10; }));
  server.server().stop();
  EXPECT_LT(server.metric("vllm:generation_tokens_total"), 32000);
}

}  // namespace
}  // namespace sluice::server_support
