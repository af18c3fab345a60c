#include "inference/server/http_front.h"

#include "dataflow/base/mailbox.h"
#include "inference/server/socket_stream.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <limits>
#include <string_view>
#include <system_error>
#include <thread>

namespace sluice {
namespace {

/// The connection that this thread serves.
struct Current {
  SocketStream* stream = nullptr;
  bool close = false;
  int refused = 0;    ///< the status for a request that is not to be read
  bool body = false;  ///< its headers were read and taken
};
thread_local Current current;

/// Characters of a header's name (RFC 9110, 5.6.2).
bool is_token(const std::string& name) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::ranges::all_of(name, [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || kOthers.find(c) != kOthers.npos;
  });
}

bool is_length(const std::string& value) {
  return !value.empty() && value.size() <= 18 &&
         std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; });
}

/// The status for a request whose end two readers might see at different places (a second request
/// could hide in it), or whose body takes more room than it shows; 0 for any other.
int refusal_of(const httplib::Request& request) {
  const auto& headers = request.headers;
  const auto fine = [](const auto& header) { return is_token(header.first); };
  if (!std::ranges::all_of(headers, fine)) return 400;
  const auto lengths = headers.count("Content-Length");
  const auto codings = headers.count("Transfer-Encoding");
  if (lengths + codings > 1) return 400;
  if (lengths == 1 && !is_length(request.get_header_value("Content-Length"))) return 400;
  if (codings == 1) {
    std::string coding = request.get_header_value("Transfer-Encoding");
    std::ranges::transform(coding, coding.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (coding != "chunked") return 501;
  }
  return headers.count("Content-Encoding") > 0 ? 415 : 0;
}

bool has_body(const httplib::Request& request) {
  return request.has_header("Transfer-Encoding") ||
         (request.has_header("Content-Length") &&
          request.get_header_value("Content-Length") != "0");
}

/// A file descriptor that becomes readable once, for good.
class Flag {
 public:
  Flag() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~Flag() { ::close(fd_); }
  Flag(const Flag&) = delete;
  Flag& operator=(const Flag&) = delete;
  void raise() {
    raised_ = true;
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(fd_, &one, sizeof one);
  }
  [[nodiscard]] bool raised() const noexcept { return raised_; }
  [[nodiscard]] int fd() const noexcept { return fd_; }

 private:
  int fd_;
  std::atomic<bool> raised_{false};
};

struct Resolved {
  addrinfo* list = nullptr;
  Resolved() = default;
  Resolved(const Resolved&) = delete;
  Resolved& operator=(const Resolved&) = delete;
  ~Resolved() {
    if (list != nullptr) ::freeaddrinfo(list);
  }
  int look_up(const std::string& host, int port) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
    return ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  }
};

bool loopback(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    return (ntohl(v4->sin_addr.s_addr) >> 24) == 127;
  }
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
  return address->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr) != 0;
}

int port_of(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

HttpRequest request_of(const httplib::Request& r, std::function<bool()> gone) {
  return {r.method, r.path, r.body, r.get_header_value("Authorization"), std::move(gone)};
}

void fill(httplib::Response& out, HttpResponse in) {
  out.status = in.status;
  for (auto& [name, value] : in.headers) out.set_header(name, value);
  if (!in.next) return out.set_content(in.body, in.content_type);
  out.set_header("Cache-Control", "no-cache");
  auto next = std::make_shared<std::function<bool(std::string&)>>(std::move(in.next));
  out.set_chunked_content_provider(in.content_type,
                                   [next](size_t /*offset*/, httplib::DataSink& sink) {
                                     std::string text;
                                     const bool more = (*next)(text);
                                     if (!text.empty()) sink.write(text.data(), text.size());
                                     if (!more) {
                                       sink.done();
                                       return true;
                                     }
                                     return sink.is_writable();
                                   });
}

}  // namespace

class HttpFront::Server final : private httplib::Server {
 public:
  Server(HttpFront::Options options, Hooks hooks)
      : options_(std::move(options)), hooks_(std::move(hooks)) {
    set_payload_max_length(options_.max_body_bytes);
    set_keep_alive_max_count(std::numeric_limits<int>::max());
    set_keep_alive_timeout(options_.idle_ms / 1000);
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      if (current.refused != 0) {
        response.status = current.refused;
        response.set_content(hooks_.failure(response.status, request_of(request, gone())),
                             "application/json");
        current.close = true;
        return HandlerResponse::Handled;
      }
      HttpResponse no = hooks_.gate(request_of(request, gone()));
      if (no.status == 0) {
        // What has a length is skipped when it is too long, so that its sender hears of it.
        const size_t most = options_.max_body_bytes;
        current.body = true;
        current.stream->allow(request.has_header("Content-Length") ? 4 * most : most + 65536);
        return HandlerResponse::Unhandled;
      }
      current.close = true;  // its body was not read
      fill(response, std::move(no));
      return HandlerResponse::Handled;
    });
    set_error_handler([this](const httplib::Request& request, httplib::Response& response) {
      if (!response.body.empty()) return;
      current.close = true;
      if (current.stream->exceeded()) response.status = current.body ? 413 : 431;
      response.set_content(hooks_.failure(response.status, request_of(request, gone())),
                           "application/json");
    });
    set_exception_handler([this](const httplib::Request& request, httplib::Response& response,
                                 const std::exception_ptr& /*what*/) {
      response.status = 500;
      response.set_content(hooks_.failure(500, request_of(request, gone())), "application/json");
    });
  }

  void add(Route route) {
    const auto serve = [this, handler = std::move(route.handler)](const httplib::Request& request,
                                                                  httplib::Response& response) {
      fill(response, handler(request_of(request, gone())));
    };
    if (route.method == "GET") {
      Get(route.path, serve);
    } else {
      Post(route.path, serve);
    }
  }

  Status listen() {
    Resolved resolved;
    if (const int code = resolved.look_up(options_.host, options_.port); code != 0) {
      return invalid_argument("host '{}': {}", options_.host, ::gai_strerror(code));
    }
    int reason = 0;
    for (const addrinfo* at = resolved.list; at != nullptr && listen_fd_ < 0; at = at->ai_next) {
      const int fd = ::socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
      const int on = 1;
      ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
      if (fd >= 0 && ::bind(fd, at->ai_addr, at->ai_addrlen) == 0 && ::listen(fd, 1024) == 0) {
        listen_fd_ = fd;
      } else {
        reason = errno;
        ::close(fd);
      }
    }
    if (listen_fd_ < 0) {
      return error(Code::FailedPrecondition, "cannot listen on {}:{}: {}", options_.host,
                   options_.port, std::strerror(reason));
    }
    port_ = port_of(listen_fd_);
    svr_sock_ = listen_fd_;  // else it believes that it shuts down
    acceptor_ = std::thread([this] { accept_all(); });
    return {};
  }

  ~Server() override { stop(); }

  void drain() { drain_.raise(); }

  void stop() {
    drain_.raise();
    stop_.raise();
    svr_sock_ = INVALID_SOCKET;
    if (acceptor_.joinable()) acceptor_.join();
    for (auto& worker : workers_) worker->sockets.close();
    for (auto& worker : workers_) worker->thread.join();
    workers_.clear();
  }

  [[nodiscard]] int port() const noexcept { return port_; }
  [[nodiscard]] size_t connections() const noexcept { return connections_; }

 private:
  struct Worker {
    Waker waker;
    Mailbox<int> sockets{1, waker};
    std::atomic<bool> idle{false};
    std::thread thread;
  };

  [[nodiscard]] std::function<bool()> gone() const {
    return [this, stream = current.stream] { return stop_.raised() || stream->gone(); };
  }

  void accept_all() {
    while (!drain_.raised()) {
      std::array<pollfd, 2> fds{pollfd{listen_fd_, POLLIN, 0}, pollfd{drain_.fd(), POLLIN, 0}};
      if (::poll(fds.data(), fds.size(), 1000) <= 0 || fds[1].revents != 0) continue;
      const int fd = ::accept4(listen_fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (fd >= 0) {
        const int on = 1;
        ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        hand_over(fd);
      } else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
        // No descriptor or no memory for it: it waits, and so must we.
        pollfd pause{drain_.fd(), POLLIN, 0};
        ::poll(&pause, 1, 10);
      }
    }
    ::close(listen_fd_);
  }

  void hand_over(int fd) {
    ++connections_;
    for (auto& worker : workers_) {
      if (worker->idle.exchange(false)) {
        crowded_ = false;
        static_cast<void>(worker->sockets.try_put(fd));
        return;
      }
    }
    crowded_ = workers_.size() >= options_.max_connections;
    if (crowded_) return shed(fd);
    workers_.push_back(std::make_unique<Worker>());
    Worker& worker = *workers_.back();
    worker.waker.max_spin(0);
    try {
      worker.thread = std::thread([this, &worker] { work(worker); });
    } catch (const std::system_error&) {  // the system has no more threads
      workers_.pop_back();
      crowded_ = true;
      return shed(fd);
    }
    static_cast<void>(worker.sockets.try_put(fd));
  }

  void shed(int fd) {
    const std::string body = hooks_.failure(503, {});
    const std::string text = fmt::format(
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 1\r\n"
        "Content-Length: {}\r\nConnection: close\r\n\r\n{}",
        body.size(), body);
    SocketStream stream(fd, stop_.fd(), {});
    static_cast<void>(stream.write(text.data(), text.size()));
    --connections_;
  }

  void work(Worker& worker) {
    for (;;) {
      const auto seen = worker.waker.epoch();
      int fd = -1;
      if (worker.sockets.try_take(fd)) {
        serve(fd);
        --connections_;
        worker.idle = true;
      } else if (worker.sockets.closed()) {
        return;
      } else {
        worker.waker.wait(seen, RealClock::instance().now() + 60 * kSecond);
      }
    }
  }

  /// Waits for a request. Where others are turned away, nobody keeps a place without asking.
  bool wait_request(SocketStream& stream) {
    constexpr int kGlanceMs = 500;
    for (int waited = 0; waited < options_.idle_ms && !drain_.raised(); waited += kGlanceMs) {
      if (stream.wait_request(std::min(kGlanceMs, options_.idle_ms - waited), drain_.fd())) {
        return true;
      }
      if (crowded_) return false;
    }
    return false;
  }

  void serve(int fd) {
    SocketStream stream(fd, stop_.fd(),
                        {.read_ms = options_.read_ms,
                         .request_ms = options_.request_ms,
                         .write_ms = options_.write_ms});
    current = {};
    current.stream = &stream;
    while (wait_request(stream)) {
      current.body = false;
      bool closed = false;
      const bool last = drain_.raised();
      const bool fine = process_request(stream, last, closed, [](httplib::Request& request) {
        current.refused = refusal_of(request);
        request.headers.erase("Accept-Encoding");  // compressing is not worth its time
        // A form or a multipart body would be taken apart; ours is JSON whatever it says.
        request.headers.erase("Content-Type");
        if (request.method != "POST") current.close = current.close || has_body(request);
        // No length is length 0, not all until the end of the connection.
        if (!has_body(request)) request.set_header("Content-Length", "0");
      });
      if (!fine || closed || last || current.close) break;
    }
    if (current.close) stream.linger();
    current = {};
  }

  const HttpFront::Options options_;
  const Hooks hooks_;
  Flag drain_;
  Flag stop_;
  int listen_fd_ = -1;
  int port_ = 0;
  std::atomic<size_t> connections_{0};
  std::atomic<bool> crowded_{false};              ///< the newest connection found no place
  std::vector<std::unique_ptr<Worker>> workers_;  ///< the acceptor's
  std::thread acceptor_;
};

HttpFront::HttpFront(std::unique_ptr<Server> server) : server_(std::move(server)) {}
HttpFront::~HttpFront() = default;
int HttpFront::port() const noexcept { return server_->port(); }
size_t HttpFront::connections() const noexcept { return server_->connections(); }
void HttpFront::drain() { server_->drain(); }
void HttpFront::stop() { server_->stop(); }

Result<std::unique_ptr<HttpFront>> HttpFront::start(Options options, std::vector<Route> routes,
                                                    Hooks hooks) {
  auto server = std::make_unique<Server>(std::move(options), std::move(hooks));
  for (Route& route : routes) server->add(std::move(route));
  RETURN_IF_ERROR(server->listen());
  return std::unique_ptr<HttpFront>(new HttpFront(std::move(server)));
}

bool HttpFront::is_loopback(const std::string& host) {
  Resolved resolved;
  if (resolved.look_up(host, 0) != 0) return false;
  for (const addrinfo* at = resolved.list; at != nullptr; at = at->ai_next) {
    if (!loopback(at->ai_addr)) return false;
  }
  return true;
}

}  // namespace sluice
