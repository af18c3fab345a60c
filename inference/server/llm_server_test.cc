// What the server answers when it is asked as meant. server_refusals_test.cc has the rest.
#include "inference/server/server_support.h"

#include <gmock/gmock.h>

#include <thread>

namespace sluice::server_support {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(LlmServer, CompletesAText) {
  TestServer server;
  const Answer answer = server.post("/v1/completions", completion());
  ASSERT_EQ(answer.status, 200) << answer.text;
  const json body = answer.json();
  EXPECT_THAT(body["id"].get<std::string>(), StartsWith("cmpl-"));
  EXPECT_EQ(body["object"], "text_completion");
  EXPECT_EQ(body["model"], "tiny");
  EXPECT_EQ(body["system_fingerprint"], (VersionTag{1, 0, 3, 9}.to_string()));
  ASSERT_EQ(body["choices"].size(), 1U);
  EXPECT_EQ(body["choices"][0]["finish_reason"], "length");
  EXPECT_FALSE(body["choices"][0]["text"].get<std::string>().empty());
  EXPECT_EQ(body["usage"]["completion_tokens"], 8);
  const json tokens = server.post("/tokenize", {{"prompt", "the cat"}}).json();
  EXPECT_EQ(body["usage"]["prompt_tokens"], tokens["count"]);
  EXPECT_EQ(server.post("/v1/completions", completion()).json()["choices"], body["choices"]);
  // The ids of the prompt, instead of its text, are the same prompt.
  EXPECT_EQ(
      server.post("/v1/completions", completion({{"prompt", tokens["tokens"]}})).json()["choices"],
      body["choices"]);
}

TEST(LlmServer, StreamsTheSameTextPieceByPiece) {
  TestServer server;
  const json whole = server
                         .post("/v1/completions", completion({{"max_tokens", 40},
                                                              {"n", 2},
                                                              {"seed", 5},
                                                              {"temperature", 1},
                                                              {"return_token_ids", true}}))
                         .json();
  const Answer answer =
      server.post("/v1/completions", completion({{"max_tokens", 40},
                                                 {"n", 2},
                                                 {"seed", 5},
                                                 {"temperature", 1},
                                                 {"return_token_ids", true},
                                                 {"stream", true},
                                                 {"stream_options", {{"include_usage", true}}}}));
  EXPECT_THAT(answer.content_type, StartsWith("text/event-stream"));
  std::vector<std::string> texts(2);
  std::vector<json> ids(2, json::array());
  const auto events = answer.events();
  for (const json& event : events) {
    for (const json& choice : event["choices"]) {
      const auto i = choice["index"].get<size_t>();
      texts[i] += choice["text"].get<std::string>();
      for (const json& id : choice["token_ids"]) ids[i].push_back(id);
    }
  }
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(whole["choices"][i]["text"], texts[i]);
    EXPECT_EQ(ids[i], whole["choices"][i]["token_ids"]);
  }
  EXPECT_NE(ids[0], ids[1]) << "two samples";
  EXPECT_GT(events.size(), 10U);
  EXPECT_TRUE(events.back()["choices"].empty());
  EXPECT_EQ(events.back()["usage"], whole["usage"]);
  EXPECT_EQ(whole["usage"]["completion_tokens"], 80);
}

TEST(LlmServer, SeveralPromptsGiveNumberedChoices) {
  TestServer server;
  const json both =
      server.post("/v1/completions", completion({{"prompt", {"the cat", "a mat"}}})).json();
  ASSERT_EQ(both["choices"].size(), 2U);
  const json second = server.post("/v1/completions", completion({{"prompt", "a mat"}})).json();
  EXPECT_EQ(both["choices"][1]["text"], second["choices"][0]["text"]);
  EXPECT_EQ(both["choices"][1]["index"], 1);
  EXPECT_NE(both["choices"][0]["text"], both["choices"][1]["text"]);
}

TEST(LlmServer, ChatGoesThroughTheTemplate) {
  TestServer server;
  const json body = server.post("/v1/chat/completions", chat()).json();
  ASSERT_TRUE(body.contains("choices")) << body;
  EXPECT_EQ(body["object"], "chat.completion");
  EXPECT_EQ(body["choices"][0]["message"]["role"], "assistant");
  const std::string text = "<|im_start|>user\nthe cat<|im_end|>\n";
  const json raw = server.post("/v1/completions", completion({{"prompt", text}})).json();
  EXPECT_EQ(body["choices"][0]["message"]["content"], raw["choices"][0]["text"]);
  EXPECT_EQ(body["usage"]["prompt_tokens"], raw["usage"]["prompt_tokens"]);
  // Text may come in parts.
  const json parts =
      json::array({{{"type", "text"}, {"text", "the "}}, {{"type", "text"}, {"text", "cat"}}});
  const json messages = json::array({{{"role", "user"}, {"content", parts}}});
  EXPECT_EQ(server.post("/v1/chat/completions", chat({{"messages", messages}})).json()["choices"],
            body["choices"]);
}

TEST(LlmServer, ChatStreamsDeltas) {
  TestServer server;
  const json whole = server.post("/v1/chat/completions", chat({{"max_tokens", 20}})).json();
  const auto events =
      server.post("/v1/chat/completions", chat({{"max_tokens", 20}, {"stream", true}})).events();
  ASSERT_GT(events.size(), 2U);
  EXPECT_EQ(events.front()["object"], "chat.completion.chunk");
  EXPECT_EQ(events.front()["choices"][0]["delta"]["role"], "assistant");
  std::string text;
  for (const json& event : events) {
    text += event["choices"][0]["delta"].value("content", "");
    EXPECT_EQ(event["id"], events.front()["id"]);
  }
  EXPECT_EQ(whole["choices"][0]["message"]["content"], text);
  EXPECT_EQ(events.back()["choices"][0]["finish_reason"], "length");
  EXPECT_TRUE(events.front()["choices"][0]["finish_reason"].is_null());
}

TEST(LlmServer, StopStringsEndTheTextAndAreNotShown) {
  TestServer server;
  const json whole = server.post("/v1/completions", completion({{"max_tokens", 40}})).json();
  const std::string text = whole["choices"][0]["text"];
  size_t from = text.size() / 2;
  while ((static_cast<unsigned char>(text[from]) & 0xC0) == 0x80) ++from;
  size_t to = from + 1;
  while (to < text.size() && (static_cast<unsigned char>(text[to]) & 0xC0) == 0x80) ++to;
  const std::string stop = text.substr(from, to - from);
  const json request = completion({{"max_tokens", 40}, {"stop", stop}});
  const json cut = server.post("/v1/completions", request).json();
  EXPECT_EQ(cut["choices"][0]["text"], text.substr(0, text.find(stop)));
  EXPECT_EQ(cut["choices"][0]["finish_reason"], "stop");
  json streamed = request;
  streamed["stream"] = true;
  std::string pieces;
  for (const json& event : server.post("/v1/completions", streamed).events()) {
    pieces += event["choices"][0]["text"].get<std::string>();
  }
  EXPECT_EQ(cut["choices"][0]["text"], pieces);
  json with = request;
  with["include_stop_str_in_output"] = true;
  EXPECT_EQ(server.post("/v1/completions", with).json()["choices"][0]["text"],
            text.substr(0, text.find(stop) + stop.size()));
}

TEST(LlmServer, StopIdsAndBiasAndAllowedTokensAreObeyed) {
  TestServer server;
  const json forced = server
                          .post("/v1/completions", completion({{"logit_bias", {{"40", 100}}},
                                                               {"max_tokens", 3},
                                                               {"return_token_ids", true}}))
                          .json();
  EXPECT_EQ(forced["choices"][0]["token_ids"], (json{40, 40, 40}));
  const json stopped = server
                           .post("/v1/completions", completion({{"logit_bias", {{"40", 100}}},
                                                                {"stop_token_ids", {40}},
                                                                {"return_token_ids", true}}))
                           .json();
  EXPECT_EQ(stopped["choices"][0]["token_ids"], (json{40}));
  EXPECT_EQ(stopped["choices"][0]["text"], "");
  EXPECT_EQ(stopped["choices"][0]["finish_reason"], "stop");
  const json only = server
                        .post("/v1/completions", completion({{"allowed_token_ids", {41}},
                                                             {"max_tokens", 2},
                                                             {"return_token_ids", true}}))
                        .json();
  EXPECT_EQ(only["choices"][0]["token_ids"], (json{41, 41}));
}

TEST(LlmServer, LogprobsInBothForms) {
  TestServer server;
  const json text =
      server
          .post("/v1/completions",
                completion({{"logprobs", 3}, {"temperature", 1}, {"top_k", 1}, {"max_tokens", 4}}))
          .json()["choices"][0]["logprobs"];
  ASSERT_EQ(text["tokens"].size(), 4U);
  EXPECT_EQ(text["token_logprobs"].size(), 4U);
  EXPECT_EQ(text["text_offset"][0], 0);
  EXPECT_GE(text["top_logprobs"][0].size(), 1U);
  for (const json& logprob : text["token_logprobs"]) EXPECT_LE(logprob.get<double>(), 0);
  const json chat_form =
      server
          .post("/v1/chat/completions",
                chat({{"logprobs", true}, {"top_logprobs", 2}, {"max_tokens", 4}}))
          .json()["choices"][0]["logprobs"]["content"];
  ASSERT_EQ(chat_form.size(), 4U);
  EXPECT_EQ(chat_form[0]["top_logprobs"].size(), 2U);
  EXPECT_EQ(chat_form[0]["top_logprobs"][0]["logprob"], chat_form[0]["logprob"]) << "greedy";
  EXPECT_TRUE(chat_form[0]["bytes"].is_array());
}

TEST(LlmServer, MaskedTokensMakeNoInfinityInTheJson) {
  TestServer server;
  const Answer answer = server.post(
      "/v1/completions",
      completion(
          {{"logprobs", 20}, {"allowed_token_ids", {41}}, {"max_tokens", 2}, {"min_tokens", 2}}));
  ASSERT_EQ(answer.status, 200) << answer.text;
  EXPECT_FALSE(answer.json().is_discarded());
  EXPECT_EQ(answer.text.find("inf"), std::string::npos);
  EXPECT_EQ(answer.text.find("nan"), std::string::npos);
}

TEST(LlmServer, TokensThatAreHalfCharactersAreStillTextAndTheirBytesAreTheirOwn) {
  TestServer server;
  const json ids = server.post("/tokenize", {{"prompt", "\U0001F600"}}).json()["tokens"];
  ASSERT_GE(ids.size(), 2U) << "one token for the whole character";
  const json change{{"allowed_token_ids", json::array({ids[0]})},
                    {"max_tokens", 3},
                    {"logprobs", true},
                    {"top_logprobs", 1}};
  const json whole = server.post("/v1/chat/completions", chat(change)).json()["choices"][0];
  const std::string text = whole["message"]["content"];
  EXPECT_EQ(text, "\uFFFD\uFFFD\uFFFD") << "three beginnings of characters";
  for (const json& token : whole["logprobs"]["content"]) EXPECT_EQ(token["bytes"][0], 0xF0);
  json stream = chat(change);
  stream["stream"] = true;
  std::string joined;
  for (const json& event : server.post("/v1/chat/completions", stream).events()) {
    joined += event["choices"][0]["delta"].value("content", "");
  }
  EXPECT_EQ(joined, text);
  // The whole character comes in one piece.
  json all = completion({{"prompt", ids}, {"echo", true}, {"max_tokens", 1}, {"stream", true}});
  EXPECT_EQ(server.post("/v1/completions", all).events()[0]["choices"][0]["text"], "\U0001F600");
}

TEST(LlmServer, SeedsMayBeNegative) {
  TestServer server;
  const auto draw = [&](int64_t seed) {
    return server.post("/v1/completions", completion({{"seed", seed}, {"temperature", 1}}))
        .json()["choices"];
  };
  const json first = draw(-5);
  EXPECT_EQ(first, draw(-5));
  EXPECT_NE(first, draw(5));
}

TEST(LlmServer, EchoScoresThePrompt) {
  TestServer server;
  const json body =
      server
          .post("/v1/completions", completion({{"echo", true}, {"logprobs", 0}, {"max_tokens", 0}}))
          .json();
  ASSERT_TRUE(body.contains("choices")) << body;
  EXPECT_EQ(body["choices"][0]["text"], "the cat");
  const json scores = body["choices"][0]["logprobs"]["token_logprobs"];
  ASSERT_EQ(scores.size(), body["usage"]["prompt_tokens"].get<size_t>());
  EXPECT_TRUE(scores[0].is_null());
  for (size_t i = 1; i < scores.size(); ++i) EXPECT_LT(scores[i].get<double>(), 0);
  EXPECT_EQ(body["usage"]["completion_tokens"], 0);
  const json plain = server.post("/v1/completions", completion()).json();
  EXPECT_EQ(
      server.post("/v1/completions", completion({{"echo", true}})).json()["choices"][0]["text"],
      "the cat" + plain["choices"][0]["text"].get<std::string>());
}

TEST(LlmServer, TheAnswerIsClippedAtTheLongestSequence) {
  TestServer server({}, [](EngineOptions& o) { o.max_length = 32; });
  const json body = server.post("/v1/completions", completion({{"max_tokens", 100000}})).json();
  EXPECT_EQ(body["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(body["usage"]["total_tokens"], 32);
}

TEST(LlmServer, TokensAndBack) {
  TestServer server;
  const json tokens = server.post("/tokenize", {{"prompt", "the mat <|im_end|>"}}).json();
  const json text = server.post("/detokenize", {{"tokens", tokens["tokens"]}}).json();
  EXPECT_EQ(text["prompt"], "the mat <|im_end|>");
  json conversation = chat();
  for (const char* key : {"temperature", "max_tokens", "ignore_eos"}) conversation.erase(key);
  const json chat_tokens = server.post("/tokenize", conversation).json();
  EXPECT_EQ(server.post("/detokenize", {{"tokens", chat_tokens["tokens"]}}).json()["prompt"],
            "<|im_start|>user\nthe cat<|im_end|>\n");
}

TEST(LlmServer, SaysWhatItServesAndHowItIs) {
  TestServer server;
  EXPECT_EQ(server.get("/health").status, 200);
  const json models = server.get("/v1/models").json();
  EXPECT_EQ(models["data"][0]["id"], "tiny");
  EXPECT_EQ(models["data"][0]["max_model_len"], 4096);
  const Answer page = server.get("/");
  EXPECT_THAT(page.content_type, StartsWith("text/html"));
  EXPECT_EQ(page.text.find("http://"), std::string::npos) << "nothing from elsewhere";
  EXPECT_EQ(page.text.find("https://"), std::string::npos);
}

TEST(LlmServer, MetricsMatchWhatTheClientSaw) {
  TestServer server;
  double prompt = 0, generated = 0;
  for (int i = 0; i < 3; ++i) {
    const json usage =
        server
            .post("/v1/completions", completion({{"prompt",
                                                  "the cat sat on the mat and then the "
                                                  "hat sat on the cat and the mat and the hat"},
                                                 {"n", 2}}))
            .json()["usage"];
    prompt += usage["prompt_tokens"].get<double>();
    generated += usage["completion_tokens"].get<double>();
  }
  ASSERT_TRUE(server.settled());
  EXPECT_EQ(server.metric("vllm:prompt_tokens_total"), prompt);
  EXPECT_EQ(server.metric("vllm:generation_tokens_total"), generated);
  EXPECT_EQ(server.metric("vllm:request_success_total"), 6);
  EXPECT_EQ(server.metric("vllm:time_to_first_token_seconds"), 6);
  EXPECT_GT(server.metric("vllm:prefix_cache_hits_total"), 0);
  EXPECT_LE(server.metric("vllm:prefix_cache_hits_total"),
            server.metric("vllm:prefix_cache_queries_total"));
  const std::string text = server.get("/metrics").text;
  EXPECT_THAT(text, HasSubstr("# TYPE vllm:num_requests_running gauge\n"));
  EXPECT_THAT(text, HasSubstr("vllm:num_requests_waiting{model_name=\"tiny\",engine=\"0\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("vllm:e2e_request_latency_seconds_count"));
}

TEST(LlmServer, ManyClientsAtOnceAllGetTheirOwnAnswer) {
  TestServer server;
  const auto ask = [&](int i) {
    return completion({{"prompt", "the cat " + std::to_string(i)}, {"max_tokens", 30}});
  };
  std::vector<json> alone;
  for (int i = 0; i < 24; ++i) {
    alone.push_back(server.post("/v1/completions", ask(i)).json()["choices"]);
  }
  std::vector<json> together(24);
  {
    std::vector<std::jthread> clients;
    for (int i = 0; i < 24; ++i) {
      clients.emplace_back([&, i] {
        together[static_cast<size_t>(i)] = server.post("/v1/completions", ask(i)).json()["choices"];
      });
    }
  }
  int same = 0;
  for (size_t i = 0; i < 24; ++i) {
    ASSERT_EQ(together[i].size(), 1U);
    EXPECT_EQ(together[i][0]["finish_reason"], "length");
    same += together[i] == alone[i] ? 1 : 0;
  }
  EXPECT_GE(same, 20) << "but for rounding in other batches";
}

}  // namespace
}  // namespace sluice::server_support
