#pragma once
#include "dataflow/base/result.h"

#include <string>
#include <vector>

namespace sluice {

/// A shared library that is loaded at run time, where it is, and stays loaded until the process
/// ends. Any thread.
class SharedLibrary {
 public:
  /// The first of `paths` that can be loaded. Unavailable, in one line, with what the system says
  /// of each.
  static Result<SharedLibrary> open(const std::vector<std::string>& paths);

  /// Where a library of ours may be: $VARIABLE alone when it is set; otherwise FILE beside the
  /// program, then in ../lib, as installed.
  [[nodiscard]] static std::vector<std::string> places(const std::string& file,
                                                       const char* variable);

  /// Null when there is none of that name.
  [[nodiscard]] void* symbol(const char* name) const;
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  SharedLibrary(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}

  void* handle_;
  std::string path_;
};

}  // namespace sluice
