#pragma once
#include "inference/server/api_request.h"
#include "inference/server/engine_loop.h"
#include "inference/server/http_front.h"

#include <atomic>
#include <memory>
#include <string>

namespace sluice {

class ApiResponse;

struct LlmServerOptions {
  std::string host = "127.0.0.1";
  int port = 8000;
  /// When not empty, every request under /v1, /tokenize and /detokenize must carry it as a bearer
  /// token. Without one only loopback addresses are bound.
  std::string api_key;
  int64_t max_queue = 256;  ///< sequences that wait for the engine
  size_t max_connections = 512;
};

/// A model behind OpenAI's HTTP interface: /v1/completions, /v1/chat/completions, /v1/models,
/// /tokenize, /detokenize, /health, /metrics and a chat page at /. Threads: one that owns the
/// engine (EngineLoop), one that accepts, one for each open connection.
///
///   ASSIGN_OR_RETURN(auto server, LlmServer::start(std::move(engine), model, options));
///   ... server->port() ...
///   server->drain(10 * kSecond);
class LlmServer {
 public:
  static Result<std::unique_ptr<LlmServer>> start(std::unique_ptr<Engine> engine, ServedModel model,
                                                  LlmServerOptions options);
  /// stop().
  ~LlmServer();
  LlmServer(const LlmServer&) = delete;
  LlmServer& operator=(const LlmServer&) = delete;

  [[nodiscard]] int port() const noexcept { return front_->port(); }
  [[nodiscard]] const MetricRegistry& metrics() const noexcept { return registry_; }

  /// Refuses what is new and lets what is under way end.
  void drain();
  /// After drain(): whether everything has ended.
  [[nodiscard]] bool drained() const;
  /// Ends everything now.
  void stop();

 private:
  LlmServer(std::unique_ptr<Engine> engine, ServedModel model, LlmServerOptions options);
  [[nodiscard]] std::vector<HttpFront::Route> routes();
  [[nodiscard]] HttpResponse gate(const HttpRequest& request) const;
  HttpResponse complete(const HttpRequest& request, bool chat);
  /// The first news: whether the engine takes it. Empty response (status 0) when it does.
  HttpResponse await_acceptance(Reply& reply, const HttpRequest& request) const;
  HttpResponse answer_whole(Reply& reply, const HttpRequest& request, ApiResponse& response) const;
  [[nodiscard]] HttpResponse models() const;
  [[nodiscard]] HttpResponse tokenize(const HttpRequest& request) const;
  [[nodiscard]] HttpResponse detokenize(const HttpRequest& request) const;

  ServedModel model_;
  LlmServerOptions options_;
  int64_t started_ = 0;
  uint64_t id_seed_ = 0;
  std::atomic<uint64_t> next_id_{0};
  MetricRegistry registry_;
  ServerMetrics metrics_;
  EngineLoop loop_;
  std::unique_ptr<HttpFront> front_;
};

/// Bytes of the tokenizer's longest token, for ServedModel.
[[nodiscard]] size_t longest_token(const Tokenizer& tokenizer);

}  // namespace sluice
