#pragma once
#include "dataflow/base/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice {

/// Writes a large file piece by piece so that a crash at any moment leaves either the old content
/// or the new: a temporary file beside it, fsync, rename. Without commit() the temporary file is
/// removed and the old one stays.
class AtomicFile {
 public:
  /// With `fresh`, commit() fails with AlreadyExists, and changes nothing, when something is at
  /// `path` by then.
  static Result<AtomicFile> create(const std::string& path, bool fresh = false);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  /// ResourceExhausted when the disk is full.
  Status write(std::string_view bytes);
  /// Bytes written so far.
  [[nodiscard]] uint64_t size() const noexcept { return size_; }
  Status commit();

 private:
  AtomicFile() = default;

  std::string path_;
  std::string temporary_;
  bool fresh_ = false;
  int descriptor_ = -1;
  uint64_t size_ = 0;
};

/// A folder that appears whole: files are written into folder(), which commit() renames to the path
/// it was made for. Without commit() it is removed.
class AtomicFolder {
 public:
  /// AlreadyExists when there is something at `path` other than an empty folder.
  static Result<AtomicFolder> create(const std::string& path);
  AtomicFolder(AtomicFolder&& other) noexcept;
  AtomicFolder& operator=(AtomicFolder&&) = delete;
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;
  ~AtomicFolder();

  [[nodiscard]] const std::string& folder() const noexcept { return temporary_; }
  Status commit();

 private:
  AtomicFolder() = default;

  std::string path_;
  std::string temporary_;
};

}  // namespace sluice
