#pragma once
#include "dataflow/base/clock.h"

#include <httplib.h>

#include <array>
#include <string>

namespace sluice {

/// One accepted connection as cpp-httplib reads and writes it. Used by one thread; `stop_fd`
/// becomes readable when everything ends.
class SocketStream final : public httplib::Stream {
 public:
  struct Limits {
    int read_ms = 0;            ///< between two pieces of a request
    int request_ms = 0;         ///< for a whole one
    int write_ms = 0;           ///< that the other end may take nothing
    size_t head_bytes = 65536;  ///< of a request's first line and headers
  };
  /// Takes over `fd`, which does not block.
  SocketStream(int fd, int stop_fd, Limits limits);
  ~SocketStream() override;
  SocketStream(const SocketStream&) = delete;
  SocketStream& operator=(const SocketStream&) = delete;

  /// Waits for the first byte of a request; false when there will be none, or `drain_fd` became
  /// readable first. From then on head_bytes can be read, and for request_ms.
  bool wait_request(int idle_ms, int drain_fd);
  /// From here on so many bytes of this request can be read: its body.
  void allow(size_t bytes) noexcept { left_ = bytes; }
  /// The request was longer than allowed.
  [[nodiscard]] bool exceeded() const noexcept { return exceeded_; }
  /// Ends the answer and reads what the client still sends, for a moment: closing before it is
  /// read would reset the connection, and the answer with it.
  void linger();
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
  Limits limits_;
  size_t left_ = 0;   ///< bytes of this request that may still be read
  TimeNs until_ = 0;  ///< when all of it must have come
  bool exceeded_ = false;
  size_t begin_ = 0;  ///< of what was received and not yet read
  size_t end_ = 0;
  std::array<char, 4096> buffer_;
};

}  // namespace sluice
