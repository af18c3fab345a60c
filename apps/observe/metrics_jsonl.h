#pragma once
#include "dataflow/base/result.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

/// Appends one JSON object per call to a file: {"time": .., "step": .., "name": value, ..}. Every
/// line is in the file when append() returns; numbers that are not finite become null. One thread.
class MetricsJsonl {
 public:
  /// Opens the file to go on behind its last whole line: a half-written one, left by a process that
  /// was killed, is cut off.
  static Result<MetricsJsonl> open(const std::string& path);

  MetricsJsonl(MetricsJsonl&& other) noexcept;
  MetricsJsonl& operator=(MetricsJsonl&& other) noexcept;
  MetricsJsonl(const MetricsJsonl&) = delete;
  MetricsJsonl& operator=(const MetricsJsonl&) = delete;
  ~MetricsJsonl();

  /// `time` in seconds. After a failure (ResourceExhausted: the disk is full) the file ends with
  /// the line before.
  Status append(double time, int64_t step,
                const std::vector<std::pair<std::string, double>>& values);

 private:
  MetricsJsonl(std::string path, int fd, int64_t size)
      : path_(std::move(path)), fd_(fd), size_(size) {}

  std::string path_;
  int fd_ = -1;
  int64_t size_ = 0;
};

}  // namespace sluice
