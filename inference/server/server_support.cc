#include "inference/server/server_support.h"

#include "models/io/checkpoint.h"
#include "models/io/load_tokenizer.h"
#include "models/transformer/loading.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <array>
#include <chrono>
#include <thread>

namespace sluice::server_support {

using nlohmann::json;

json Answer::json() const { return nlohmann::json::parse(text, nullptr, false); }

std::string Answer::error() const {
  const auto body = json();
  if (!body.is_object() || !body.contains("error")) return "no error object: " + text;
  return body["error"].value("message", "no message");
}

std::vector<json> Answer::events() const {
  std::vector<nlohmann::json> out;
  constexpr std::string_view kData = "data: ";
  bool done = false;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find("\n\n", at);
    EXPECT_NE(end, std::string::npos) << "an event without an end";
    if (end == std::string::npos) break;
    const std::string line = text.substr(at, end - at);
    at = end + 2;
    EXPECT_TRUE(line.starts_with(kData)) << line;
    EXPECT_FALSE(done) << "an event after [DONE]";
    if (line == "data: [DONE]") {
      done = true;
      continue;
    }
    out.push_back(nlohmann::json::parse(line.substr(kData.size()), nullptr, false));
    EXPECT_FALSE(out.back().is_discarded()) << line;
  }
  EXPECT_TRUE(done) << "no [DONE] at the end";
  return out;
}

TinyModel tiny_model(const std::function<void(EngineOptions&)>& set) {
  const std::string path = SLUICE_SOURCE_DIR "/models/io/testdata/tiny_llama";
  const auto checkpoint = Checkpoint::open(path);
  SLUICE_CHECK(checkpoint.ok()) << checkpoint.status().message();
  auto tokenizer = load_tokenizer(path);
  SLUICE_CHECK(tokenizer.ok()) << tokenizer.status().message();
  const auto transformer = load_transformer(**checkpoint);
  SLUICE_CHECK(transformer.ok()) << transformer.status().message();
  TinyModel out;
  out.model.name = "tiny";
  out.model.tokenizer = *std::move(tokenizer);
  out.model.templates = ModelTemplates::load(path);
  EngineOptions options;
  options.blocks = 2048;
  options.block_size = 16;
  options.max_length = 4096;
  options.scheduler.token_budget = 256;
  options.tokenizer = out.model.tokenizer;
  options.seed = 7;
  if (set) set(options);
  out.model.vocabulary = transformer->config().vocab_size;
  out.model.max_length = options.max_length;
  out.model.longest_token = longest_token(*out.model.tokenizer);
  auto engine =
      Engine::create(*transformer, options, VersionTag{1, 0, 3, 9}, RealClock::instance());
  SLUICE_CHECK(engine.ok()) << engine.status().message();
  out.engine = *std::move(engine);
  return out;
}

TestServer::TestServer(LlmServerOptions options, std::function<void(EngineOptions&)> set) {
  TinyModel tiny = tiny_model(set);
  options.port = 0;
  auto server = LlmServer::start(std::move(tiny.engine), std::move(tiny.model), std::move(options));
  SLUICE_CHECK(server.ok()) << server.status().message();
  server_ = *std::move(server);
}

TestServer::~TestServer() { EXPECT_TRUE(settled()) << "blocks or requests are left"; }

namespace {

Answer answer_of(const httplib::Result& result) {
  if (!result) return {};
  return {result->status, result->body, result->get_header_value("Content-Type"),
          result->get_header_value("Retry-After")};
}

httplib::Client client_of(const LlmServer& server) {
  httplib::Client client("127.0.0.1", server.port());
  client.set_read_timeout(60);
  return client;
}

}  // namespace

Answer TestServer::get(const std::string& path) { return answer_of(client_of(*server_).Get(path)); }

Answer TestServer::post_text(const std::string& path, const std::string& body,
                             const std::string& authorization) {
  httplib::Headers headers;
  if (!authorization.empty()) headers.emplace("Authorization", authorization);
  return answer_of(client_of(*server_).Post(path, headers, body, "application/json"));
}

Answer TestServer::post(const std::string& path, const json& body) {
  return post_text(path, body.dump());
}

void TestServer::post_and_leave(const std::string& path, const json& body,
                                const std::function<bool(const std::string&)>& enough) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(server_->port()));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const std::string text = body.dump();
  const std::string request = "POST " + path +
                              " HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                              "Content-Length: " +
                              std::to_string(text.size()) + "\r\n\r\n" + text;
  ASSERT_EQ(::send(fd, request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  std::string got;
  while (!enough(got)) {
    std::array<char, 1024> block{};
    const ssize_t n = ::recv(fd, block.data(), block.size(), MSG_DONTWAIT);
    if (n > 0) {
      got.append(block.data(), static_cast<size_t>(n));
    } else {
      ASSERT_NE(n, 0) << "the server closed first: " << got;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  ::close(fd);
}

double TestServer::metric(std::string_view name) const {
  double sum = 0;
  for (const MetricSample& sample : server_->metrics().snapshot()) {
    if (sample.name != name) continue;
    sum += sample.value;
    for (const int64_t count : sample.counts) sum += static_cast<double>(count);
  }
  return sum;
}

bool TestServer::eventually(const std::function<bool()>& done) {
  for (int i = 0; i < 12000; ++i) {  // a minute: sanitizers on a busy machine are slow
    if (done()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

bool TestServer::settled() const {
  return eventually([this] {
    return metric("vllm:num_requests_running") == 0 && metric("vllm:num_requests_waiting") == 0 &&
           metric("vllm:kv_cache_usage_perc") == 0;
  });
}

namespace {

json with(json base, const json& more) {
  for (const auto& [key, value] : more.items()) {
    if (value.is_null()) {
      base.erase(key);
    } else {
      base[key] = value;
    }
  }
  return base;
}

}  // namespace

json completion(const json& more) {
  return with({{"model", "tiny"},
               {"prompt", "the cat"},
               {"temperature", 0},
               {"max_tokens", 8},
               {"ignore_eos", true}},
              more);
}

json chat(const json& more) {
  json base = completion();
  base.erase("prompt");
  base["messages"] = json::array({{{"role", "user"}, {"content", "the cat"}}});
  return with(std::move(base), more);
}

}  // namespace sluice::server_support
