#pragma once
#include "dataflow/base/result.h"

#include <cstdint>
#include <ctime>
#include <string>

namespace sluice {

/// The folder that holds all a run leaves behind, and the claim on it: while one of these lives, no
/// other process (and no other RunDir) can use the same folder. The claim goes with the process.
class RunDir {
 public:
  /// "<root>/<recipe>-20260131-235959" in local time, with "-2", "-3", .. when that exists.
  static std::string default_path(const std::string& root, const std::string& recipe, time_t now);

  /// Makes a new run directory; AlreadyExists when there is one that is not empty,
  /// FailedPrecondition when another process uses it.
  static Result<RunDir> create(const std::string& path);
  /// Takes over an existing one to continue it; NotFound when there is no run in it.
  static Result<RunDir> open(const std::string& path);

  RunDir(RunDir&& other) noexcept;
  RunDir& operator=(RunDir&& other) noexcept;
  RunDir(const RunDir&) = delete;
  RunDir& operator=(const RunDir&) = delete;
  ~RunDir();

  /// Removes what a run that never began has left, so that the same path can be tried again. Other
  /// files stay, and with them the folder.
  void discard();
  /// The run's identity, kept in the directory: `fresh` the first time, and from then on what was
  /// kept, however the directory is named or wherever it was moved. DataLoss when it cannot be
  /// read.
  Result<uint64_t> run_id(uint64_t fresh) const;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::string config_path() const { return path_ + "/config.toml"; }
  [[nodiscard]] std::string id_path() const { return path_ + "/run_id"; }
  [[nodiscard]] std::string metrics_path() const { return path_ + "/metrics.jsonl"; }
  [[nodiscard]] std::string events_path() const { return path_ + "/events"; }
  [[nodiscard]] std::string log_path() const { return path_ + "/log.txt"; }
  [[nodiscard]] std::string graph_path() const { return path_ + "/graph.dot"; }
  [[nodiscard]] std::string checkpoints_path() const { return path_ + "/checkpoints"; }

 private:
  RunDir(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}
  static Result<int> lock(const std::string& path);
  static Result<RunDir> claim(const std::string& path);

  std::string path_;
  int lock_ = -1;
};

}  // namespace sluice
