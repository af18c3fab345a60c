#include "models/io/subprocess.h"

#include "dataflow/base/files.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

extern char** environ;  // NOLINT(readability-identifier-naming): the system's name

namespace sluice {

std::optional<std::string> find_program(std::initializer_list<const char*> names) {
  const char* path = std::getenv("PATH");
  for (const char* name : names) {
    std::string_view rest = path == nullptr ? "" : path;
    while (!rest.empty()) {
      const size_t colon = rest.find(':');
      std::string file = std::string(rest.substr(0, colon)) + "/" + name;
      if (::access(file.c_str(), X_OK) == 0) return file;
      rest = colon == std::string_view::npos ? "" : rest.substr(colon + 1);
    }
  }
  return std::nullopt;
}

Status run_program(const std::vector<std::string>& arguments) {
  SLUICE_CHECK(!arguments.empty());
  std::vector<char*> argv;
  for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, 2, 1);
  pid_t child = -1;
  const int failed = ::posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return errno_status(failed, fmt::format("cannot run '{}'", arguments[0]));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR)
      return errno_status(errno, fmt::format("cannot wait for '{}'", arguments[0]));
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  if (WIFEXITED(status)) {
    return error(Code::Internal, "'{}' ended with code {}", arguments[0], WEXITSTATUS(status));
  }
  return error(Code::Internal, "'{}' was ended by signal {}", arguments[0], WTERMSIG(status));
}

}  // namespace sluice
