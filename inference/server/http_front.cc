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

#include <atomic>
#include <cerrno>
#include <cstring>
#include <limits>
#include <thread>

namespace sluice {
namespace {

/// The connection that this thread serves.
struct Current {
  const SocketStream* stream = nullptr;
  bool close = false;
};
thread_local Current current;

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
      HttpResponse no = hooks_.gate(request_of(request, gone()));
      if (no.status == 0) return HandlerResponse::Unhandled;
      current.close = true;  // its body was not read
      fill(response, std::move(no));
      return HandlerResponse::Handled;
    });
    set_error_handler([this](const httplib::Request& request, httplib::Response& response) {
      if (!response.body.empty()) return;
      current.close = true;
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
      } else if (errno == EMFILE || errno == ENFILE) {
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
        static_cast<void>(worker->sockets.try_put(fd));
        return;
      }
    }
    if (workers_.size() >= options_.max_connections) return shed(fd);
    workers_.push_back(std::make_unique<Worker>());
    Worker& worker = *workers_.back();
    worker.waker.max_spin(0);
    static_cast<void>(worker.sockets.try_put(fd));
    worker.thread = std::thread([this, &worker] { work(worker); });
  }

  void shed(int fd) {
    const std::string body = hooks_.failure(503, {});
    const std::string text = fmt::format(
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 1\r\n"
        "Content-Length: {}\r\nConnection: close\r\n\r\n{}",
        body.size(), body);
    SocketStream stream(fd, stop_.fd(), 0, 0);
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

  void serve(int fd) {
    SocketStream stream(fd, stop_.fd(), options_.read_ms, options_.write_ms);
    current = {&stream, false};
    while (stream.wait_request(options_.idle_ms, drain_.fd())) {
      bool closed = false;
      const bool last = drain_.raised();
      const bool fine = process_request(stream, last, closed, [](httplib::Request& request) {
        request.headers.erase("Accept-Encoding");  // compressing is not worth its time
      });
      if (!fine || closed || last || current.close) break;
    }
    current = {};
  }

  const HttpFront::Options options_;
  const Hooks hooks_;
  Flag drain_;
  Flag stop_;
  int listen_fd_ = -1;
  int port_ = 0;
  std::atomic<size_t> connections_{0};
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
