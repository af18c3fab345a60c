#pragma once
#include "models/io/byte_source.h"

#include <memory>
#include <string>

namespace sluice {

/// A file opened for reading and mapped into memory. The mapping is private: writing to it changes
/// this process's copy of a page, never the file.
///
/// A file that another program rewrites in place is noticed by its size and time of change, which
/// read() and check_unchanged() compare with those at opening. read() copies through the file
/// descriptor, so that a truncated file is an error and not a SIGBUS. What is reached through
/// data() is safe as long as the file keeps its size: a truncation while a tensor still looks at
/// the mapping kills the process on the next touch of a lost page, as with every mapping. Files
/// that are replaced by renaming, as all of ours are, do no harm: the mapping keeps the old
/// content.
class MappedFile final : public ByteSource {
 public:
  /// NotFound, FailedPrecondition (no permission, a folder) or Internal, with the path.
  static Result<std::shared_ptr<MappedFile>> open(const std::string& path);
  ~MappedFile() override;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] uint64_t size() const noexcept override { return size_; }
  [[nodiscard]] uint8_t* data() const noexcept { return data_; }

  Status read(uint64_t offset, void* out, size_t count) const override;
  /// DataLoss when size or time of change differ from those at opening.
  [[nodiscard]] Status check_unchanged() const;

 private:
  MappedFile() = default;

  std::string path_;
  int descriptor_ = -1;
  uint64_t size_ = 0;
  int64_t changed_s_ = 0;
  int64_t changed_ns_ = 0;
  uint8_t* data_ = nullptr;
};

}  // namespace sluice
