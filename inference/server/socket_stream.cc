#include "inference/server/socket_stream.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace sluice {
namespace {

/// Whether `fd` is ready for `events` before the time is over and before `other` can be read.
bool wait_for(int fd, short events, int other, int timeout_ms) {
  std::array<pollfd, 2> fds{pollfd{fd, events, 0}, pollfd{other, POLLIN, 0}};
  int ready = 0;
  do {
    ready = ::poll(fds.data(), fds.size(), timeout_ms);
  } while (ready < 0 && errno == EINTR);
  return ready > 0 && fds[1].revents == 0 && fds[0].revents != 0;
}

}  // namespace

SocketStream::SocketStream(int fd, int stop_fd, Limits limits)
    : fd_(fd), stop_fd_(stop_fd), limits_(limits) {}

SocketStream::~SocketStream() {
  // What the client still sends would turn the close into a reset that takes our answer with it.
  ::shutdown(fd_, SHUT_WR);
  for (int i = 0; i < 16 && ::recv(fd_, buffer_.data(), buffer_.size(), MSG_DONTWAIT) > 0; ++i) {
  }
  ::close(fd_);
}

bool SocketStream::wait_request(int idle_ms, int drain_fd) {
  if (begin_ == end_ && !wait_for(fd_, POLLIN, drain_fd, idle_ms)) return false;
  left_ = limits_.head_bytes;
  until_ = after(RealClock::instance().now(), limits_.request_ms * kMillisecond);
  exceeded_ = false;
  return true;
}

void SocketStream::linger() {
  constexpr int kRounds = 20;
  constexpr int kRoundMs = 50;
  constexpr size_t kMost = size_t{4} << 20;
  ::shutdown(fd_, SHUT_WR);
  size_t taken = 0;
  for (int round = 0; round < kRounds && taken < kMost;) {
    const ssize_t got = ::recv(fd_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (got > 0) {
      taken += static_cast<size_t>(got);
      continue;
    }
    if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) return;
    ++round;
    if (!wait_for(fd_, POLLIN, stop_fd_, kRoundMs)) {
      pollfd stop{stop_fd_, POLLIN, 0};
      if (::poll(&stop, 1, 0) > 0) return;
    }
  }
}

bool SocketStream::gone() const {
  pollfd one{fd_, POLLRDHUP, 0};
  return ::poll(&one, 1, 0) > 0 && (one.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

bool SocketStream::is_readable() const {
  return begin_ < end_ || wait_for(fd_, POLLIN, stop_fd_, limits_.read_ms);
}

ssize_t SocketStream::read(char* out, size_t size) {
  while (begin_ == end_) {
    const ssize_t got = ::recv(fd_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (got > 0) {
      begin_ = 0;
      end_ = static_cast<size_t>(got);
      break;
    }
    if (got == 0) return 0;
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return -1;
    // One that sends a byte now and then must not keep its place for ever.
    const TimeNs left = (until_ - RealClock::instance().now()) / kMillisecond;
    const auto wait = std::min<TimeNs>(limits_.read_ms, left);
    if (wait <= 0 || !wait_for(fd_, POLLIN, stop_fd_, static_cast<int>(wait))) return -1;
  }
  if (left_ == 0) {
    exceeded_ = true;
    return -1;
  }
  const size_t n = std::min({size, end_ - begin_, left_});
  std::copy_n(buffer_.data() + begin_, n, out);
  begin_ += n;
  left_ -= n;
  return static_cast<ssize_t>(n);
}

ssize_t SocketStream::write(const char* data, size_t size) {
  for (;;) {
    const ssize_t sent = ::send(fd_, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) return sent;
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return -1;
    if (!wait_for(fd_, POLLOUT, stop_fd_, limits_.write_ms)) return -1;
  }
}

void SocketStream::get_remote_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}
void SocketStream::get_local_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}

}  // namespace sluice
