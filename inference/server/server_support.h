#pragma once
#include "inference/server/llm_server.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

/// For tests: a server of a tiny model on a free port, and a client.
namespace sluice::server_support {

struct Answer {
  int status = -1;  ///< -1: none came
  std::string text;
  std::string content_type;
  std::string retry_after;
  /// The body as JSON; a discarded value when it is none.
  [[nodiscard]] nlohmann::json json() const;
  /// error.message of the body.
  [[nodiscard]] std::string error() const;
  /// The JSON of each "data:" line but for the last, which must be [DONE].
  [[nodiscard]] std::vector<nlohmann::json> events() const;
};

class TestServer {
 public:
  explicit TestServer(LlmServerOptions options = {}, std::function<void(EngineOptions&)> set = {});
  /// Fails the test when the engine still holds blocks or requests after a while.
  ~TestServer();

  Answer get(const std::string& path);
  Answer post(const std::string& path, const nlohmann::json& body);
  Answer post_text(const std::string& path, const std::string& body,
                   const std::string& authorization = "");
  /// Sends a request and closes the connection once `enough` says so of what came back.
  void post_and_leave(const std::string& path, const nlohmann::json& body,
                      const std::function<bool(const std::string&)>& enough);

  /// The sum over all labels.
  [[nodiscard]] double metric(std::string_view name) const;
  /// Nothing runs or waits and every block is free; waits for it for up to ten seconds.
  [[nodiscard]] bool settled() const;
  /// Waits until `done`, for up to ten seconds.
  static bool eventually(const std::function<bool()>& done);

  [[nodiscard]] LlmServer& server() { return *server_; }

 private:
  std::unique_ptr<LlmServer> server_;
};

/// An engine and a served model of the tiny checkpoint in models/io/testdata, with room for
/// sequences of `max_length` tokens.
struct TinyModel {
  ServedModel model;
  std::unique_ptr<Engine> engine;
};
TinyModel tiny_model(const std::function<void(EngineOptions&)>& set = {});

/// {"model": "tiny", "prompt": "the cat", "temperature": 0, "max_tokens": 8, "ignore_eos": true},
/// overridden by `more`.
nlohmann::json completion(const nlohmann::json& more = nlohmann::json::object());
/// The same as a chat.
nlohmann::json chat(const nlohmann::json& more = nlohmann::json::object());

}  // namespace sluice::server_support
