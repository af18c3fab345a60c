#include "bench/peer.h"

#include <nlohmann/json.hpp>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

extern char** environ;

namespace sluice::bench {
namespace {

std::string path_of(const BenchOptions& options, const std::string& script) {
  const std::string dir = options.peers_dir.empty() ? SLUICE_PEERS_DIR : options.peers_dir;
  return dir + "/" + script;
}

/// Starts a program with its standard output on a pipe; returns the reading end.
Result<std::pair<pid_t, int>> spawn(const std::vector<std::string>& command) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return error(Code::Internal, "pipe: {}", std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  std::vector<char*> argv;
  for (const auto& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (failed != 0) {
    close(ends[0]);
    return error(Code::NotFound, "cannot run '{}': {}", command[0], std::strerror(failed));
  }
  return std::pair(child, ends[0]);
}

std::string read_all(int from) {
  std::string out;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t n = read(from, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    out.append(buffer.data(), static_cast<size_t>(n));
  }
  close(from);
  return out;
}

}  // namespace

Result<PeerResult> parse_peer(std::string_view output) {
  nlohmann::json found;
  for (size_t at = 0; at < output.size();) {
    const size_t end = std::min(output.find('\n', at), output.size());
    auto json = nlohmann::json::parse(output.substr(at, end - at), nullptr, false);
    if (json.is_object()) found = std::move(json);
    at = end + 1;
  }
  if (!found.is_object()) return error(Code::DataLoss, "the peer printed no JSON line");
  const auto peer = found.find("peer");
  const auto value = found.find("value");
  if (peer == found.end() || !peer->is_string() || value == found.end() || !value->is_number()) {
    return error(Code::DataLoss, "the peer's line lacks a \"peer\" or a numeric \"value\": {}",
                 found.dump());
  }
  PeerResult out;
  out.peer = *peer;
  out.value = *value;
  const auto text = [&](const char* key) {
    const auto it = found.find(key);
    return it != found.end() && it->is_string() ? it->get<std::string>() : std::string();
  };
  out.version = text("version");
  out.unit = text("unit");
  if (const auto it = found.find("repeats"); it != found.end() && it->is_array()) {
    for (const auto& repeat : *it) {
      if (repeat.is_number()) out.repeats.push_back(repeat);
    }
  }
  if (const auto it = found.find("settings"); it != found.end()) out.settings = it->dump();
  return out;
}

Result<PeerResult> run_peer(const BenchOptions& options, const std::string& script,
                            const std::vector<std::string>& arguments) {
  const std::string path = path_of(options, script);
  if (access(path.c_str(), R_OK) != 0) return error(Code::NotFound, "no peer program {}", path);
  std::vector<std::string> command{options.peer_python, path};
  command.insert(command.end(), arguments.begin(), arguments.end());
  ASSIGN_OR_RETURN(const auto child, spawn(command));
  const std::string output = read_all(child.second);
  int state = 0;
  while (waitpid(child.first, &state, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(state) || WEXITSTATUS(state) != 0) {
    return error(Code::Unavailable, "{} ended with {} {}", script,
                 WIFEXITED(state) ? "exit code" : "signal",
                 WIFEXITED(state) ? WEXITSTATUS(state) : WTERMSIG(state));
  }
  auto parsed = parse_peer(output);
  if (!parsed.ok()) return parsed.status().with_context(script);
  return parsed;
}

}  // namespace sluice::bench
