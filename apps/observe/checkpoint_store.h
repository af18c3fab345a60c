#pragma once
#include "dataflow/base/result.h"
#include "dataflow/base/snapshot.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sluice {

/// A saved state of a whole run.
struct RunCheckpoint {
  std::string path;
  int64_t step = 0;
  std::map<std::string, Snapshot> workers;  ///< by worker name, replicas apart
  std::map<std::string, std::string> info;  ///< "version" and whatever else the writer noted
};

/// Keeps the newest few checkpoints of one run in `folder`, which must exist. Each is a folder of
/// its own: one file per worker and a manifest with sizes and digests, written under a temporary
/// name, synced, and renamed, so that a crash at any moment leaves every earlier checkpoint whole.
/// One thread.
class CheckpointStore {
 public:
  CheckpointStore(std::string folder, std::string graph, int64_t keep = 3)
      : folder_(std::move(folder)), graph_(std::move(graph)), keep_(keep) {}

  /// ResourceExhausted when the disk is full. After any failure the earlier checkpoints are as they
  /// were. A checkpoint of the same step is replaced.
  Status save(int64_t step, const std::map<std::string, Snapshot>& workers,
              const std::map<std::string, std::string>& info);
  /// The newest one that is whole. Damaged ones are passed over with a warning in the log. NotFound
  /// when none is left, InvalidArgument when it belongs to another graph or format.
  [[nodiscard]] Result<RunCheckpoint> load_latest() const;
  /// The checkpoint in this folder; DataLoss says which file is damaged and how.
  [[nodiscard]] Result<RunCheckpoint> load(const std::string& path) const;
  /// Folders of all checkpoints, newest first.
  [[nodiscard]] std::vector<std::string> list() const;

 private:
  [[nodiscard]] Status write(const std::string& path, int64_t step,
                             const std::map<std::string, Snapshot>& workers,
                             const std::map<std::string, std::string>& info) const;
  void prune() const;

  std::string folder_;
  std::string graph_;
  int64_t keep_;
};

}  // namespace sluice
