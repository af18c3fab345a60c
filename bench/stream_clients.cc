#include "bench/stream_clients.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

namespace sluice::bench {
namespace {

constexpr std::string_view kEvent = "data: {";
constexpr std::string_view kDone = "data: [DONE]";

class StreamClient {
 public:
  StreamClient(int port, const std::string& body)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const std::string request =
        "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Content-Length: " +
        std::to_string(body.size()) + "\r\n\r\n" + body;
    sent_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
            ::send(fd_, request.data(), request.size(), MSG_NOSIGNAL) ==
                static_cast<ssize_t>(request.size());
  }
  ~StreamClient() {
    if (fd_ >= 0) ::close(fd_);
  }
  StreamClient(const StreamClient&) = delete;
  StreamClient& operator=(const StreamClient&) = delete;

  [[nodiscard]] int fd() const noexcept { return fd_; }
  [[nodiscard]] bool sent() const noexcept { return sent_; }
  [[nodiscard]] bool done() const noexcept { return done_; }
  [[nodiscard]] std::vector<TimeNs> take_times() { return std::move(times_); }

  /// Reads what is there.
  Status read() {
    std::array<char, 16384> block{};
    const ssize_t n = ::recv(fd_, block.data(), block.size(), MSG_DONTWAIT);
    if (n <= 0) return error(Code::Unavailable, "the server closed a stream after: {}", text_);
    const TimeNs now = RealClock::instance().now();
    text_.append(block.data(), static_cast<size_t>(n));
    if (times_.empty() && text_.starts_with("HTTP/1.1") && !text_.starts_with("HTTP/1.1 200")) {
      return error(Code::Unavailable, "the server answers {}", text_.substr(0, 400));
    }
    size_t at = 0;
    for (size_t found = 0; (found = text_.find(kEvent, at)) != std::string::npos;) {
      times_.push_back(now);
      at = found + kEvent.size();
    }
    done_ = text_.find(kDone, at) != std::string::npos;
    // What may be the beginning of an event stays.
    text_.erase(0, std::max(at, text_.size() - std::min(text_.size(), kDone.size())));
    return {};
  }

 private:
  int fd_;
  bool sent_ = false;
  bool done_ = false;
  std::string text_;
  std::vector<TimeNs> times_;
};

}  // namespace

Result<std::vector<std::vector<TimeNs>>> stream_completions(
    int port, const std::vector<std::string>& bodies) {
  std::vector<std::unique_ptr<StreamClient>> clients;
  std::vector<pollfd> waits;
  for (const std::string& body : bodies) {
    clients.push_back(std::make_unique<StreamClient>(port, body));
    if (!clients.back()->sent()) return error(Code::Unavailable, "port {} takes no request", port);
    waits.push_back({clients.back()->fd(), POLLIN, 0});
  }
  constexpr int kPatienceMs = 120'000;
  size_t open = clients.size();
  while (open > 0) {
    if (::poll(waits.data(), waits.size(), kPatienceMs) <= 0) {
      return error(Code::Unavailable, "{} streams bring nothing any more", open);
    }
    for (size_t i = 0; i < clients.size(); ++i) {
      if (waits[i].revents == 0) continue;
      RETURN_IF_ERROR(clients[i]->read());
      if (!clients[i]->done()) continue;
      waits[i].fd = -1;
      --open;
    }
  }
  std::vector<std::vector<TimeNs>> times;
  for (auto& client : clients) times.push_back(client->take_times());
  return times;
}

}  // namespace sluice::bench
