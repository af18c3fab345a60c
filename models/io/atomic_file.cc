#include "models/io/atomic_file.h"

#include "dataflow/base/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <utility>

namespace sluice {
namespace {

namespace fs = std::filesystem;

// Two processes of different containers may have the same id, and one that was killed leaves its
// file behind: a name is taken only if nothing has it.
constexpr int kNames = 1000;
std::string temporary_name(const std::string& path) {
  static std::atomic<uint64_t> counter{0};
  return fmt::format("{}.tmp-{}-{}", path, ::getpid(), counter.fetch_add(1));
}
Status exists(const std::string& path) { return error(Code::AlreadyExists, "'{}' exists", path); }

std::string parent_of(const std::string& path) {
  const std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

}  // namespace

Result<AtomicFile> AtomicFile::create(const std::string& path, bool fresh) {
  AtomicFile out;
  out.path_ = path;
  out.fresh_ = fresh;
  if (fresh && ::access(path.c_str(), F_OK) == 0) return exists(path);
  for (int i = 0; i < kNames; ++i) {
    const std::string name = temporary_name(path);
    out.descriptor_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (out.descriptor_ >= 0) {
      out.temporary_ = name;
      return out;
    }
    if (errno != EEXIST) break;
  }
  return errno_status(errno, fmt::format("cannot write '{}'", path));
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      fresh_(other.fresh_),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_) {}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Status AtomicFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(descriptor_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_status(errno, fmt::format("cannot write '{}'", path_));
    bytes.remove_prefix(static_cast<size_t>(n));
    size_ += static_cast<uint64_t>(n);
  }
  return {};
}

Status AtomicFile::commit() {
  const auto failed = [&] { return errno_status(errno, fmt::format("cannot write '{}'", path_)); };
  if (::fsync(descriptor_) != 0) return failed();
  if (::close(std::exchange(descriptor_, -1)) != 0) return failed();
  if (fresh_) {
    // A rename would replace what has come since; a second name does not, where there are any.
    if (::link(temporary_.c_str(), path_.c_str()) == 0) {
      ::unlink(temporary_.c_str());
    } else if (errno == EEXIST || ::access(path_.c_str(), F_OK) == 0) {
      return exists(path_);
    } else if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
      return failed();
    }
  } else if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return failed();
  }
  temporary_.clear();
  return sync_folder(parent_of(path_));
}

Result<AtomicFolder> AtomicFolder::create(const std::string& path) {
  AtomicFolder out;
  out.path_ = path;
  while (out.path_.size() > 1 && out.path_.back() == '/') out.path_.pop_back();
  std::error_code ignored;
  const bool empty = fs::is_directory(out.path_, ignored) && fs::is_empty(out.path_, ignored);
  if (fs::exists(out.path_, ignored) && !empty) {
    return error(Code::AlreadyExists, "'{}' exists and is not empty", path);
  }
  std::error_code failed;
  fs::create_directories(parent_of(out.path_), failed);
  for (int i = 0; i < kNames && !failed; ++i) {
    const std::string name = temporary_name(out.path_);
    // False without an error: something has the name, and its files are not ours.
    if (!fs::create_directory(name, failed) && !failed) continue;
    if (!failed) out.temporary_ = name;
    break;
  }
  if (!failed && out.temporary_.empty()) failed = std::make_error_code(std::errc::file_exists);
  if (failed) return errno_status(failed.value(), fmt::format("cannot make folder '{}'", path));
  return out;
}

AtomicFolder::AtomicFolder(AtomicFolder&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, {})) {}

AtomicFolder::~AtomicFolder() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

Status AtomicFolder::commit() {
  RETURN_IF_ERROR(sync_folder(temporary_));
  std::error_code failed;
  fs::rename(temporary_, path_, failed);
  if (failed) return errno_status(failed.value(), fmt::format("cannot make folder '{}'", path_));
  temporary_.clear();
  return sync_folder(parent_of(path_));
}

}  // namespace sluice
