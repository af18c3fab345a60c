#pragma once
#include "dataflow/base/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

/// CRC-32C (Castagnoli) of some bytes.
[[nodiscard]] uint32_t crc32c(std::string_view bytes) noexcept;
/// One record of an event file: length, masked checksums and the bytes themselves.
[[nodiscard]] std::string tf_record(std::string_view data);
/// The first event of a file, which names its format.
[[nodiscard]] std::string version_event(double wall_time);
/// An event with scalars (tag, value) of one step.
[[nodiscard]] std::string scalar_event(double wall_time, int64_t step,
                                       const std::vector<std::pair<std::string, double>>& values);

/// Writes scalars as an event file that TensorBoard reads. A resumed run gets a file of its own
/// beside the earlier ones: TensorBoard joins them. One thread.
class TensorboardWriter {
 public:
  /// Starts "<folder>/events.out.tfevents.<time>.<host>", with ".2", ".3", .. when that exists.
  /// `wall_time` in seconds since 1970.
  static Result<TensorboardWriter> open(const std::string& folder, double wall_time,
                                        const std::string& host);

  TensorboardWriter(TensorboardWriter&& other) noexcept;
  TensorboardWriter& operator=(TensorboardWriter&& other) noexcept;
  TensorboardWriter(const TensorboardWriter&) = delete;
  TensorboardWriter& operator=(const TensorboardWriter&) = delete;
  ~TensorboardWriter();

  /// Is in the file when it returns. After a failure the file ends with the event before.
  Status append(double wall_time, int64_t step,
                const std::vector<std::pair<std::string, double>>& values);
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  TensorboardWriter(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  Status write(std::string_view event);

  std::string path_;
  int fd_ = -1;
  int64_t size_ = 0;
};

}  // namespace sluice
