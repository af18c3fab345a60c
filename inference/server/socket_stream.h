#pragma once
#include <httplib.h>

#include <array>
#include <string>

namespace sluice {

/// One accepted connection as cpp-httplib reads and writes it. Used by one thread; `stop_fd`
/// becomes readable when everything ends.
class SocketStream final : public httplib::Stream {
 public:
  /// Takes over `fd`, which does not block.
  SocketStream(int fd, int stop_fd, int read_ms, int write_ms);
  ~SocketStream() override;
  SocketStream(const SocketStream&) = delete;
  SocketStream& operator=(const SocketStream&) = delete;

  /// Waits for the first byte of a request; false when there will be none, or `drain_fd` became
  /// readable first.
  bool wait_request(int idle_ms, int drain_fd);
  /// The other end has closed.
  [[nodiscard]] bool gone() const;

  bool is_readable() const override;
  bool is_writable() const override { return !gone(); }
  ssize_t read(char* out, size_t size) override;
  ssize_t write(const char* data, size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  socket_t socket() const override { return fd_; }

 private:
  int fd_;
  int stop_fd_;
  int read_ms_;
  int write_ms_;
  size_t begin_ = 0;  ///< of what was received and not yet read
  size_t end_ = 0;
  std::array<char, 4096> buffer_;
};

}  // namespace sluice
