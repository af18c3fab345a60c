#include "models/io/mapped_file.h"

#include "dataflow/base/files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace sluice {

Status MemorySource::read(uint64_t offset, void* out, size_t count) const {
  if (offset > bytes_.size() || count > bytes_.size() - offset) {
    return error(Code::OutOfRange, "{} bytes at {} are past the end ({} bytes)", count, offset,
                 bytes_.size());
  }
  if (count > 0) std::memcpy(out, bytes_.data() + offset, count);
  return {};
}

Result<std::shared_ptr<MappedFile>> MappedFile::open(const std::string& path) {
  const auto failed = [&] { return errno_status(errno, fmt::format("cannot read '{}'", path)); };
  std::shared_ptr<MappedFile> file(new MappedFile);
  file->path_ = path;
  // Without O_NONBLOCK a named pipe would be waited for before it is refused.
  file->descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file->descriptor_ < 0) return failed();
  struct stat info {};
  if (::fstat(file->descriptor_, &info) != 0) return failed();
  if (!S_ISREG(info.st_mode)) {
    return error(Code::FailedPrecondition, "cannot read '{}': not a regular file", path);
  }
  file->size_ = static_cast<uint64_t>(info.st_size);
  file->changed_s_ = info.st_mtim.tv_sec;
  file->changed_ns_ = info.st_mtim.tv_nsec;
  if (file->size_ == 0) return file;
  void* mapped = ::mmap(nullptr, file->size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE,
                        file->descriptor_, 0);
  if (mapped == MAP_FAILED) return failed();
  file->data_ = static_cast<uint8_t*>(mapped);
  return file;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, size_);
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status MappedFile::check_unchanged() const {
  struct stat info {};
  if (::fstat(descriptor_, &info) != 0) {
    return errno_status(errno, fmt::format("cannot read '{}'", path_));
  }
  if (static_cast<uint64_t>(info.st_size) != size_) {
    return error(Code::DataLoss, "{}: the file changed while it was open: {} bytes became {}",
                 path_, size_, info.st_size);
  }
  if (info.st_mtim.tv_sec != changed_s_ || info.st_mtim.tv_nsec != changed_ns_) {
    return error(Code::DataLoss, "{}: the file changed while it was open", path_);
  }
  return {};
}

Status MappedFile::read(uint64_t offset, void* out, size_t count) const {
  if (offset > size_ || count > size_ - offset) {
    return error(Code::OutOfRange, "{}: {} bytes at {} are past the end ({} bytes)", path_, count,
                 offset, size_);
  }
  RETURN_IF_ERROR(check_unchanged());
  auto* to = static_cast<uint8_t*>(out);
  while (count > 0) {
    const ssize_t n = ::pread(descriptor_, to, count, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_status(errno, fmt::format("cannot read '{}'", path_));
    if (n == 0) {
      return error(Code::DataLoss, "{}: the file changed while it was open: it ends at {}", path_,
                   offset);
    }
    to += n;
    offset += static_cast<uint64_t>(n);
    count -= static_cast<size_t>(n);
  }
  return {};
}

}  // namespace sluice
