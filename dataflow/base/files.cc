#include "dataflow/base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <system_error>

namespace sluice {
namespace {

/// Owns a file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const noexcept { return fd_; }
  /// Some file systems report a failed write only here.
  int close() noexcept { return ::close(std::exchange(fd_, -1)); }

 private:
  int fd_;
};

}  // namespace

Status errno_status(int error, std::string_view what) {
  Code code = Code::Internal;
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      code = Code::ResourceExhausted;
      break;
    case ENOENT:
    case ENOTDIR:
      code = Code::NotFound;
      break;
    case EACCES:
    case EPERM:
    case EROFS:
    case EISDIR:
      code = Code::FailedPrecondition;
      break;
    default:
      break;
  }
  return {code, fmt::format("{}: {}", what, std::generic_category().message(error))};
}

Result<std::string> read_file(const std::string& path) {
  const auto failed = [&] { return errno_status(errno, fmt::format("cannot read '{}'", path)); };
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return failed();
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return failed();
  std::string bytes;
  // The size is a hint only: the file may grow, or be one of /proc, which say 0.
  bytes.resize(static_cast<size_t>(std::max<off_t>(info.st_size, 0)) + 4096);
  size_t filled = 0;
  for (;;) {
    if (filled == bytes.size()) bytes.resize(bytes.size() * 2);
    const ssize_t n = ::read(file.get(), bytes.data() + filled, bytes.size() - filled);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed();
    if (n == 0) break;
    filled += static_cast<size_t>(n);
  }
  bytes.resize(filled);
  return bytes;
}

Status write_file(const std::string& path, std::string_view bytes) {
  const auto failed = [&] { return errno_status(errno, fmt::format("cannot write '{}'", path)); };
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (file.get() < 0) return failed();
  while (!bytes.empty()) {
    const ssize_t n = ::write(file.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed();
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  if (file.close() != 0) return failed();
  return {};
}

Status sync_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0 || ::fsync(file.get()) != 0) {
    return errno_status(errno, fmt::format("cannot write '{}'", path));
  }
  return {};
}

Status write_file_synced(const std::string& path, std::string_view bytes) {
  RETURN_IF_ERROR(write_file(path, bytes));
  return sync_file(path);
}

Status sync_folder(const std::string& path) {
  const Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0 || ::fsync(folder.get()) != 0) {
    return errno_status(errno, fmt::format("cannot sync folder '{}'", path));
  }
  return {};
}

Status write_file_atomic(const std::string& path, std::string_view bytes) {
  static std::atomic<uint64_t> counter{0};
  const std::string temporary = fmt::format("{}.tmp-{}-{}", path, ::getpid(), counter.fetch_add(1));
  if (Status status = write_file_synced(temporary, bytes); !status.ok()) {
    ::unlink(temporary.c_str());
    return status;
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary.c_str());
    return errno_status(error, fmt::format("cannot write '{}'", path));
  }
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return sync_folder(folder.empty() ? "." : folder);
}

}  // namespace sluice
