#include "apps/observe/metrics_jsonl.h"

#include "dataflow/base/files.h"

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <utility>

namespace sluice {
namespace {

// Where the last whole line ends. Looks from the end: such files grow large.
Result<int64_t> end_of_last_line(int fd, const std::string& path) {
  std::array<char, 4096> block{};
  off_t end = ::lseek(fd, 0, SEEK_END);
  while (end > 0) {
    const off_t start = std::max<off_t>(0, end - static_cast<off_t>(block.size()));
    const ssize_t n = ::pread(fd, block.data(), static_cast<size_t>(end - start), start);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return errno_status(errno, fmt::format("cannot read '{}'", path));
    for (ssize_t i = n; i > 0; --i) {
      if (block[static_cast<size_t>(i - 1)] == '\n') return start + i;
    }
    end = start;
  }
  return int64_t{0};
}

}  // namespace

Result<MetricsJsonl> MetricsJsonl::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return errno_status(errno, fmt::format("cannot write '{}'", path));
  MetricsJsonl out(path, fd, 0);
  ASSIGN_OR_RETURN(out.size_, end_of_last_line(fd, path));
  if (::ftruncate(fd, out.size_) != 0) {
    return errno_status(errno, fmt::format("cannot write '{}'", path));
  }
  return out;
}

Status MetricsJsonl::append(double time, int64_t step,
                            const std::vector<std::pair<std::string, double>>& values) {
  nlohmann::ordered_json line{{"time", time}, {"step", step}};
  for (const auto& [name, value] : values) {
    line[name] = std::isfinite(value) ? nlohmann::ordered_json(value) : nullptr;
  }
  const std::string text =
      line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t n = ::write(fd_, text.data() + written, text.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int reason = errno;
      if (::ftruncate(fd_, size_) != 0) written = 0;  // the next open() cuts the rest off
      return errno_status(reason, fmt::format("cannot write '{}'", path_));
    }
    written += static_cast<size_t>(n);
  }
  size_ += static_cast<int64_t>(text.size());
  return {};
}

MetricsJsonl::MetricsJsonl(MetricsJsonl&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), size_(other.size_) {}

MetricsJsonl& MetricsJsonl::operator=(MetricsJsonl&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(size_, other.size_);
  return *this;
}

MetricsJsonl::~MetricsJsonl() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace sluice
