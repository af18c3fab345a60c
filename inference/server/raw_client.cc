#include "inference/server/raw_client.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <thread>

namespace sluice::server_support {

RawClient::RawClient(int port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return;
  ::close(fd_);
  fd_ = -1;
}

RawClient::~RawClient() {
  if (fd_ >= 0) ::close(fd_);
}

void RawClient::send(std::string_view text) const {
  while (!text.empty()) {
    const ssize_t sent = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    text.remove_prefix(static_cast<size_t>(sent));
  }
}

bool RawClient::drip(char byte) const {
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  char got = 0;
  if (::recv(fd_, &got, 1, MSG_DONTWAIT | MSG_PEEK) == 0) return false;
  return ::send(fd_, &byte, 1, MSG_NOSIGNAL) == 1;
}

std::string RawClient::read_now() const {
  std::string out;
  std::array<char, 4096> block{};
  for (;;) {
    const ssize_t got = ::recv(fd_, block.data(), block.size(), MSG_DONTWAIT);
    if (got <= 0) return out;
    out.append(block.data(), static_cast<size_t>(got));
  }
}

std::string RawClient::read_to_end() const {
  constexpr int kPatienceMs = 20'000;
  std::string out;
  std::array<char, 4096> block{};
  pollfd one{fd_, POLLIN, 0};
  while (::poll(&one, 1, kPatienceMs) > 0) {
    const ssize_t got = ::recv(fd_, block.data(), block.size(), 0);
    if (got <= 0) break;
    out.append(block.data(), static_cast<size_t>(got));
  }
  return out;
}

}  // namespace sluice::server_support
