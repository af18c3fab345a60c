#include "apps/observe/run_dir.h"

#include "dataflow/base/files.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace sluice {
namespace {

namespace fs = std::filesystem;
constexpr const char* kLockName = ".lock";
constexpr const char* kIdName = "run_id";

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// A folder that only ever held a lock, an identity and empty folders is as good as empty: a run
// that was killed so early has left nothing.
bool holds_something(const std::string& path) {
  std::error_code error;
  const fs::directory_iterator entries(path, error);
  return std::any_of(begin(entries), end(entries), [&](const fs::directory_entry& entry) {
    if (entry.path().filename() == kLockName || entry.path().filename() == kIdName) return false;
    return !entry.is_directory(error) || !fs::is_empty(entry.path(), error);
  });
}

Status make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error) return {};
  return errno_status(error.value(), fmt::format("cannot make run directory '{}'", path));
}

}  // namespace

std::string RunDir::default_path(const std::string& root, const std::string& recipe, time_t now) {
  tm local{};
  ::localtime_r(&now, &local);
  const std::string path = fmt::format("{}/{}-{:%Y%m%d-%H%M%S}", root, recipe, local);
  std::string free = path;
  std::error_code error;
  for (int n = 2; fs::exists(free, error); ++n) free = fmt::format("{}-{}", path, n);
  return free;
}

Result<int> RunDir::lock(const std::string& path) {
  const std::string file = path + "/" + kLockName;
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return errno_status(errno, fmt::format("cannot use run directory '{}'", path));
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  const int reason = errno;
  ::close(fd);
  if (reason != EWOULDBLOCK) {
    return errno_status(reason, fmt::format("cannot lock run directory '{}'", path));
  }
  return error(Code::FailedPrecondition,
               "run directory '{}' is in use by another process; choose another with --out", path);
}

Result<RunDir> RunDir::claim(const std::string& path) {
  ASSIGN_OR_RETURN(const int fd, lock(path));
  RunDir run(path, fd);
  RETURN_IF_ERROR(make_folder(run.events_path()));
  RETURN_IF_ERROR(make_folder(run.checkpoints_path()));
  return run;
}

Result<RunDir> RunDir::create(const std::string& where) {
  const std::string path = without_slash(where);
  if (holds_something(path)) {
    if (!fs::exists(path + "/config.toml")) {
      return error(Code::AlreadyExists,
                   "directory '{}' exists and holds something else than a run; choose another with "
                   "--out",
                   path);
    }
    return error(Code::AlreadyExists,
                 "run directory '{}' exists; use --resume {} to continue it or choose another with "
                 "--out",
                 path, path);
  }
  RETURN_IF_ERROR(make_folder(path));
  return claim(path);
}

Result<RunDir> RunDir::open(const std::string& where) {
  const std::string path = without_slash(where);
  if (!holds_something(path)) {
    return error(Code::NotFound, "there is no run in '{}' to continue", path);
  }
  return claim(path);
}

void RunDir::discard() {
  std::error_code error;
  fs::remove_all(events_path(), error);
  fs::remove_all(checkpoints_path(), error);
  for (const auto& file : {config_path(), metrics_path(), log_path(), graph_path(), id_path()}) {
    fs::remove(file, error);
  }
  fs::remove(path_ + "/" + kLockName, error);
  fs::remove(path_, error);  // only when it is empty
}

Result<uint64_t> RunDir::run_id(uint64_t fresh) const {
  auto kept = read_file(id_path());
  if (kept.status().code() == Code::NotFound) {
    RETURN_IF_ERROR(write_file_atomic(id_path(), fmt::format("{:016x}\n", fresh)));
    return fresh;
  }
  if (!kept.ok()) return kept.status();
  uint64_t id = 0;
  const char* end = kept->data() + kept->size();
  const auto [at, failed] = std::from_chars(kept->data(), end, id, 16);
  if (failed != std::errc() || std::string_view(at, end) != "\n") {
    return error(Code::DataLoss, "'{}' holds no run id: remove it to begin a new identity",
                 id_path());
  }
  return id;
}

RunDir::RunDir(RunDir&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

RunDir& RunDir::operator=(RunDir&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(lock_, other.lock_);
  return *this;
}

RunDir::~RunDir() {
  if (lock_ >= 0) ::close(lock_);
}

}  // namespace sluice
