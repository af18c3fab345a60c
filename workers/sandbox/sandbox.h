#pragma once
#include "dataflow/base/result.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// What a program in the sandbox may use.
struct SandboxLimits {
  std::chrono::milliseconds time{5000};       ///< wall clock; CPU time is a second more
  int64_t memory_bytes = int64_t{512} << 20;  ///< address space of each process
  int64_t output_bytes = int64_t{64} << 10;   ///< of stdout and of stderr, each
  int64_t file_bytes = int64_t{16} << 20;     ///< of one file it writes
  int64_t processes = 32;
};

/// How a run ended.
struct SandboxRun {
  int exit_code = 0;        ///< 128 + n when signal n ended it, as a shell says it
  bool timed_out = false;   ///< it was stopped at the time limit
  bool output_cut = false;  ///< it was stopped because it wrote more than it may
  std::string out;
  std::string err;
  [[nodiscard]] bool succeeded() const noexcept {
    return exit_code == 0 && !timed_out && !output_cut;
  }
};

/// Runs programs nobody trusts: bubblewrap gives each its own user, mount, process, network and IPC
/// namespaces (no network, no processes but its own, /usr to read, an empty /tmp of its own), a
/// seccomp filter takes away what reaches into the kernel (mounts, tracing, namespaces, sockets but
/// local ones, ..), and rlimits bound memory, CPU time, files and processes. Any thread may run
/// several at once. Needs the program bwrap and a kernel that lets users
/// make namespaces; run by root it first becomes nobody (setpriv).
class Sandbox {
 public:
  /// Unavailable, with what is missing, where no sandbox can be made: it runs `true` in one.
  static Result<Sandbox> open();

  /// Runs `command` with `input` on stdin and `files` (name to content) in its folder /box.
  /// Unavailable when the sandbox itself fails; whatever the program does is a SandboxRun. Returns
  /// at most a moment after the time limit.
  [[nodiscard]] Result<SandboxRun> run(const std::vector<std::string>& command,
                                       std::string_view input,
                                       const std::map<std::string, std::string>& files,
                                       const SandboxLimits& limits) const;

 private:
  explicit Sandbox(std::string program) : program_(std::move(program)) {}
  std::string program_;
};

}  // namespace sluice
