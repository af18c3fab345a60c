#pragma once
#include <string>
#include <string_view>

namespace sluice::server_support {

/// For tests: a TCP connection to a port of this machine, for bytes that no HTTP client would send.
class RawClient {
 public:
  explicit RawClient(int port);
  ~RawClient();
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  /// Whether the connection came about.
  [[nodiscard]] bool connected() const noexcept { return fd_ >= 0; }
  /// Sends as much as the other end takes; what is left when it closes is dropped.
  void send(std::string_view text) const;
  /// Sends one byte after a millisecond; false when the other end has closed.
  [[nodiscard]] bool drip(char byte) const;
  /// All that comes until the other end closes, or for 20 seconds.
  [[nodiscard]] std::string read_to_end() const;
  /// What has come by now.
  [[nodiscard]] std::string read_now() const;

 private:
  int fd_ = -1;
};

}  // namespace sluice::server_support
