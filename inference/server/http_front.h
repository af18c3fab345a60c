#pragma once
#include "dataflow/base/result.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

/// What a client sent. `gone` may be called as long as the handler runs, and as long as its
/// response's `next` does, by that thread.
struct HttpRequest {
  std::string method;
  std::string path;
  std::string body;
  std::string authorization;
  std::function<bool()> gone;  ///< the client has closed the connection
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  /// Streams instead of `body`: called again and again, adds what is to be sent next (may be
  /// nothing, after a short wait) and returns false when that was the last. Destroyed at the end,
  /// or as soon as the client is gone.
  std::function<bool(std::string& out)> next;
};

/// Called by the thread of the connection; several at once.
using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

/// HTTP/1.1 on one address: a thread for each open connection, up to a number; beyond it a client
/// hears 503 at once, and those that ask for nothing lose their places. cpp-httplib reads and
/// writes the messages; sockets and threads are ours, so that a handler can see its client leave,
/// and so that stopping waits for nobody.
class HttpFront {
 public:
  struct Options {
    std::string host = "127.0.0.1";
    int port = 0;  ///< 0: any free one
    size_t max_connections = 512;
    size_t max_body_bytes = size_t{16} << 20;
    int idle_ms = 30'000;     ///< between two requests of a connection
    int read_ms = 10'000;     ///< between two pieces of one
    int request_ms = 60'000;  ///< for a whole one to come
    int write_ms = 30'000;    ///< that a client may take nothing of what it is sent
  };
  struct Route {
    std::string method;  ///< GET or POST
    std::string path;
    HttpHandler handler;
  };

  /// `gate` sees every request before its body is read (which is empty then); a response with a
  /// status other than 0 is sent instead, and the connection closed. `failure` makes the body of
  /// what goes wrong before a handler: 400 for a request whose end is not clear (two lengths, a
  /// length and a coding; RFC 9112, 6.3), 404 no such route, 413 a body too large, 415 one that is
  /// compressed, 431 headers too large, 501 an unknown coding, 503 too many connections.
  struct Hooks {
    HttpHandler gate;
    std::function<std::string(int status, const HttpRequest&)> failure;
  };

  /// FailedPrecondition when the address cannot be bound. Serves until stop().
  static Result<std::unique_ptr<HttpFront>> start(Options options, std::vector<Route> routes,
                                                  Hooks hooks);
  ~HttpFront();
  HttpFront(const HttpFront&) = delete;
  HttpFront& operator=(const HttpFront&) = delete;

  [[nodiscard]] int port() const noexcept;
  [[nodiscard]] size_t connections() const noexcept;
  /// Accepts no more, ends idle connections; requests under way go on, each the last of its
  /// connection.
  void drain();
  /// Cuts every connection; returns when no handler runs any more. Handlers must not wait for ever.
  void stop();

  /// Whether `host` names this machine's loopback only.
  static bool is_loopback(const std::string& host);

 private:
  class Server;
  explicit HttpFront(std::unique_ptr<Server> server);
  std::unique_ptr<Server> server_;
};

}  // namespace sluice
