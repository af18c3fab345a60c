#include "workers/sandbox/sandbox.h"

#include "workers/sandbox/child_process.h"
#include "workers/sandbox/seccomp_filter.h"

#include <unistd.h>

namespace sluice {
namespace {

constexpr int kFirstFile = 100;
constexpr const char* kSetpriv = "/usr/bin/setpriv";

// What the sandbox itself says on stderr begins so.
bool says_so_itself(std::string_view err) {
  return err.starts_with("bwrap: ") || err.starts_with("setpriv: ");
}

void append(std::vector<std::string>& to, std::initializer_list<std::string> more) {
  to.insert(to.end(), more);
}

}  // namespace

Result<Sandbox> Sandbox::open() {
  for (const char* program : {"/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"}) {
    if (access(program, X_OK) != 0) continue;
    Sandbox sandbox{program};
    ASSIGN_OR_RETURN(const SandboxRun run, sandbox.run({"true"}, "", {}, {}));
    if (!run.succeeded()) {
      return error(Code::Unavailable, "no sandbox can be made here: {}",
                   run.err.empty() ? "it ended without a word" : run.err);
    }
    return sandbox;
  }
  return error(Code::Unavailable,
               "no sandbox can be made here: bwrap is missing (Debian package bubblewrap)");
}

Result<SandboxRun> Sandbox::run(const std::vector<std::string>& command, std::string_view input,
                                const std::map<std::string, std::string>& files,
                                const SandboxLimits& limits) const {
  if (command.empty()) return invalid_argument("a sandbox needs a command to run");
  // The kernel holds no bound of processes against root, in whatever namespace: become nobody.
  const bool as_root = geteuid() == 0;
  const std::string filter = seccomp_filter();
  if (filter.empty()) {
    return error(Code::Unavailable, "there is no system call filter for this processor");
  }
  std::vector<ChildFile> handed = {{kFirstFile, filter}};
  std::vector<std::string> arguments;
  if (as_root)
    append(arguments, {"--reuid=65534", "--regid=65534", "--clear-groups", "--", program_});
  append(arguments, {"--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"});
  append(arguments, {"--hostname", "sandbox"});
  append(arguments, {"--ro-bind", "/usr", "/usr"});
  append(arguments, {"--symlink", "usr/bin", "/bin"});
  append(arguments, {"--symlink", "usr/lib", "/lib"});
  append(arguments, {"--symlink", "usr/lib64", "/lib64"});
  append(arguments, {"--ro-bind-try", "/etc/alternatives", "/etc/alternatives"});
  append(arguments, {"--proc", "/proc", "--dev", "/dev"});
  append(arguments, {"--size", fmt::format("{}", 4 * limits.file_bytes), "--tmpfs", "/tmp"});
  append(arguments, {"--dir", "/box", "--setenv", "HOME", "/tmp", "--setenv", "LANG", "C.UTF-8"});
  append(arguments, {"--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin"});
  append(arguments, {"--seccomp", fmt::format("{}", kFirstFile)});
  for (const auto& [name, content] : files) {
    if (name.empty() || name.find('/') != std::string::npos || name[0] == '.') {
      return invalid_argument("'{}' is no name for a file in a sandbox", name);
    }
    const int at = kFirstFile + static_cast<int>(handed.size());
    handed.push_back({at, content});
    append(arguments, {"--ro-bind-data", fmt::format("{}", at), "/box/" + name});
  }
  // The bounds are set inside, where processes are counted by the sandbox's own user namespace.
  const int64_t seconds = limits.time.count() / 1000 + 1;
  append(arguments, {"--remount-ro", "/", "--chdir", "/box", "--", "/usr/bin/prlimit",
                     fmt::format("--as={}", limits.memory_bytes), fmt::format("--cpu={}", seconds),
                     fmt::format("--fsize={}", limits.file_bytes),
                     fmt::format("--nproc={}", limits.processes), "--core=0", "--nofile=64", "--"});
  arguments.insert(arguments.end(), command.begin(), command.end());

  ASSIGN_OR_RETURN(ChildEnd end, run_child(as_root ? kSetpriv : program_, arguments, input, handed,
                                           limits.time, limits.output_bytes));
  if (end.exit_code != 0 && says_so_itself(end.err)) {
    return error(Code::Unavailable, "the sandbox failed: {}", end.err);
  }
  return SandboxRun{end.exit_code, end.timed_out, end.output_cut, std::move(end.out),
                    std::move(end.err)};
}

}  // namespace sluice
