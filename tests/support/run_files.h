#pragma once
#include <map>
#include <string>
#include <vector>

namespace sluice::testing {

/// A folder of its own, removed with all in it.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::string read_text(const std::string& path);
void write_text(const std::string& path, const std::string& text);

/// Rows of a run's metrics.jsonl, oldest first; numbers only. A row that was cut off is left out.
std::vector<std::map<std::string, double>> metric_rows(const std::string& run);
/// A value of the last row that has it; `otherwise` when none does.
double last_metric(const std::string& run, const std::string& name, double otherwise = -1);

/// Names in run/checkpoints, newest first.
std::vector<std::string> checkpoints(const std::string& run);
/// Inverts one byte in the middle of every snapshot file of a checkpoint.
void damage(const std::string& checkpoint);
/// Whether a process still uses the run directory.
bool in_use(const std::string& run);

}  // namespace sluice::testing
