#include "inference/server/llm_server.h"

#include "dataflow/base/metrics_text.h"
#include "inference/server/api_response.h"
#include "inference/server/chat_page.h"

#include <ctime>
#include <random>

namespace sluice {
namespace {

/// How often a thread that waits for news looks whether its client is still there.
constexpr TimeNs kGlance = 50 * kMillisecond;

HttpResponse fail(int status, const std::string& message) {
  HttpResponse out;
  out.status = status;
  out.body = api_error(status, message);
  if (status == 429 || status == 503) out.headers.emplace_back("Retry-After", "1");
  if (status == 401) out.headers.emplace_back("WWW-Authenticate", "Bearer");
  return out;
}
HttpResponse fail(const Status& status) { return fail(http_status(status), status.message()); }

HttpResponse json(const nlohmann::ordered_json& value) {
  HttpResponse out;
  out.body = json_text(value);
  return out;
}

/// Takes as long for a wrong key as for a right one.
bool same_secret(std::string_view given, std::string_view secret) {
  size_t differs = given.size() ^ secret.size();
  for (size_t i = 0; i < secret.size(); ++i) {
    const char other = given.empty() ? '\0' : given[i % given.size()];
    differs |= static_cast<size_t>(static_cast<unsigned char>(secret[i] ^ other));
  }
  return differs == 0;
}

/// Cancels when nobody reads the answer any more.
struct Reader {
  std::shared_ptr<Reply> reply;
  explicit Reader(std::shared_ptr<Reply> r) : reply(std::move(r)) {}
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() { reply->cancel(); }
};

TimeNs soon() { return after(RealClock::instance().now(), kGlance); }

}  // namespace

size_t longest_token(const Tokenizer& tokenizer) {
  size_t longest = 1;
  for (size_t id = 0; id < tokenizer.vocab_size(); ++id) {
    longest = std::max(longest, tokenizer.token(static_cast<TokenId>(id)).size());
  }
  return longest;
}

LlmServer::LlmServer(std::unique_ptr<Engine> engine, ServedModel model, LlmServerOptions options)
    : model_(std::move(model)),
      options_(std::move(options)),
      started_(static_cast<int64_t>(std::time(nullptr))),
      id_seed_((static_cast<uint64_t>(std::random_device{}()) << 32) ^ std::random_device{}()),
      metrics_(registry_, model_.name),
      loop_(std::move(engine), {.max_waiting = options_.max_queue}, metrics_) {}

LlmServer::~LlmServer() { stop(); }

Result<std::unique_ptr<LlmServer>> LlmServer::start(std::unique_ptr<Engine> engine,
                                                    ServedModel model, LlmServerOptions options) {
  if (options.api_key.empty() && !HttpFront::is_loopback(options.host)) {
    return error(Code::FailedPrecondition,
                 "{} can be reached from other machines: give an API key (--api-key), or bind "
                 "127.0.0.1",
                 options.host);
  }
  if (options.port < 0 || options.port > 65535) {
    return invalid_argument("port {} is out of range [0, 65535]", options.port);
  }
  HttpFront::Options front;
  front.host = options.host;
  front.port = options.port;
  front.max_connections = options.max_connections;
  std::unique_ptr<LlmServer> server(
      new LlmServer(std::move(engine), std::move(model), std::move(options)));
  HttpFront::Hooks hooks;
  hooks.gate = [raw = server.get()](const HttpRequest& request) { return raw->gate(request); };
  hooks.failure = [](int status, const HttpRequest& request) {
    if (status == 404) {
      return api_error(404, fmt::format("there is no {} {}", request.method, request.path));
    }
    if (status == 413) return api_error(413, "the body is too large");
    if (status == 415) return api_error(415, "compressed bodies are not taken");
    if (status == 431) return api_error(431, "the headers are too large");
    if (status == 501) return api_error(501, "only 'chunked' is taken as a transfer coding");
    if (status == 503) return api_error(503, "too many connections");
    return api_error(status, status >= 500 ? "the request failed" : "not a valid HTTP request");
  };
  ASSIGN_OR_RETURN(server->front_, HttpFront::start(front, server->routes(), std::move(hooks)));
  return server;
}

void LlmServer::drain() {
  loop_.drain();
  front_->drain();
}

bool LlmServer::drained() const { return loop_.open() == 0 && front_->connections() == 0; }

void LlmServer::stop() {
  if (front_) front_->stop();
  loop_.stop();
}

std::vector<HttpFront::Route> LlmServer::routes() {
  const auto text = [](std::string type, std::string body) {
    HttpResponse out;
    out.content_type = std::move(type);
    out.body = std::move(body);
    return out;
  };
  return {
      {"POST", "/v1/completions", [this](const HttpRequest& r) { return complete(r, false); }},
      {"POST", "/v1/chat/completions", [this](const HttpRequest& r) { return complete(r, true); }},
      {"GET", "/v1/models", [this](const HttpRequest&) { return models(); }},
      {"POST", "/tokenize", [this](const HttpRequest& r) { return tokenize(r); }},
      {"POST", "/detokenize", [this](const HttpRequest& r) { return detokenize(r); }},
      {"GET", "/health",
       [this](const HttpRequest&) {
         if (loop_.draining()) return fail(503, "the server is shutting down");
         return json({{"status", "ok"}});
       }},
      {"GET", "/metrics",
       [this, text](const HttpRequest&) {
         return text("text/plain; version=0.0.4", metrics_text(registry_));
       }},
      {"GET", "/",
       [text](const HttpRequest&) {
         return text("text/html; charset=utf-8", std::string(kChatPage));
       }},
  };
}

HttpResponse LlmServer::gate(const HttpRequest& request) const {
  HttpResponse pass;
  pass.status = 0;
  const bool open = request.path == "/" || request.path == "/health" || request.path == "/metrics";
  if (options_.api_key.empty() || open) return pass;
  constexpr std::string_view kBearer = "Bearer ";
  const std::string_view given = request.authorization;
  if (given.starts_with(kBearer) && same_secret(given.substr(kBearer.size()), options_.api_key)) {
    return pass;
  }
  return fail(401, "the API key is missing or wrong");
}

HttpResponse LlmServer::models() const {
  nlohmann::ordered_json model{{"id", model_.name},
                               {"object", "model"},
                               {"created", started_},
                               {"owned_by", "sluice"},
                               {"max_model_len", model_.max_length}};
  return json({{"object", "list"}, {"data", nlohmann::ordered_json::array({std::move(model)})}});
}

HttpResponse LlmServer::tokenize(const HttpRequest& request) const {
  const auto ids = read_tokenize(request.body, model_);
  if (!ids.ok()) return fail(ids.status());
  return json({{"count", ids->size()}, {"max_model_len", model_.max_length}, {"tokens", *ids}});
}

HttpResponse LlmServer::detokenize(const HttpRequest& request) const {
  const auto text = read_detokenize(request.body, model_);
  if (!text.ok()) return fail(text.status());
  return json({{"prompt", *text}});
}

HttpResponse LlmServer::await_acceptance(Reply& reply, const HttpRequest& request) const {
  HttpResponse fine;
  fine.status = 0;
  News news;
  while (!reply.wait(news, soon())) {
    if (request.gone()) return fail(503, "the client is gone");
  }
  return news.kind == News::Kind::Refused ? fail(news.refused) : fine;
}

HttpResponse LlmServer::answer_whole(Reply& reply, const HttpRequest& request,
                                     ApiResponse& response) const {
  for (;;) {
    News news;
    if (!reply.wait(news, soon())) {
      if (request.gone()) return fail(503, "the client is gone");
      continue;
    }
    response.add(std::move(news.pieces));
    if (news.kind != News::Kind::Done) continue;
    if (!response.failure().ok()) return fail(500, response.failure().message());
    HttpResponse out;
    out.body = response.whole(news);
    return out;
  }
}

HttpResponse LlmServer::complete(const HttpRequest& http, bool chat) {
  auto read = chat ? read_chat(http.body, model_) : read_completion(http.body, model_);
  if (!read.ok()) return fail(read.status());
  auto request = std::make_shared<ApiRequest>(*std::move(read));
  auto reader = std::make_shared<Reader>(loop_.make_reply());
  Submission submission;
  submission.requests = request->requests;
  submission.tokens = request->logprobs || request->token_ids;
  submission.reply = reader->reply;
  if (const Status status = loop_.submit(std::move(submission)); !status.ok()) {
    return loop_.draining() ? fail(503, status.message()) : fail(status);
  }
  if (HttpResponse no = await_acceptance(*reader->reply, http); no.status != 0) return no;
  const uint64_t number = next_id_.fetch_add(1);
  const std::string id =
      fmt::format("{}-{:016x}{:08x}", chat ? "chatcmpl" : "cmpl", id_seed_, number);
  auto response =
      std::make_shared<ApiResponse>(*request, model_, id, static_cast<int64_t>(std::time(nullptr)));
  if (!request->stream) return answer_whole(*reader->reply, http, *response);
  HttpResponse out;
  out.content_type = "text/event-stream";
  out.next = [request, reader, response, first = true](std::string& text) mutable {
    if (std::exchange(first, false)) text += response->opening();
    News news;
    if (!reader->reply->wait(news, soon())) return true;
    text += response->events(news.pieces);
    if (news.kind != News::Kind::Done) return true;
    text += response->closing(news.usage);
    return false;
  };
  return out;
}

}  // namespace sluice
