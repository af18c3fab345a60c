#include "workers/sandbox/child_process.h"

#include "dataflow/base/files.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

namespace sluice {
namespace {

using std::chrono::steady_clock;

// One open file of this process.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { close(); }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }

 private:
  int fd_;
};

Status make_pipe(Descriptor& mine, Descriptor& theirs) {
  // A socket pair, not a pipe: writing to a child that is gone can be told not to raise SIGPIPE.
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return errno_status(errno, "socketpair");
  }
  mine = Descriptor(ends[0]);
  theirs = Descriptor(ends[1]);
  fcntl(mine.get(), F_SETFL, O_NONBLOCK);
  return {};
}

Status in_memory(const std::string& content, Descriptor& out) {
  out = Descriptor(memfd_create("sandbox", MFD_CLOEXEC));
  size_t done = 0;
  while (out.is_open() && done < content.size()) {
    const ssize_t n = write(out.get(), content.data() + done, content.size() - done);
    if (n < 0) return errno_status(errno, "writing a file for the sandbox");
    done += static_cast<size_t>(n);
  }
  if (!out.is_open() || lseek(out.get(), 0, SEEK_SET) != 0) return errno_status(errno, "memfd");
  return {};
}

class SpawnActions {
 public:
  SpawnActions() { posix_spawn_file_actions_init(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }
  void give(const Descriptor& from, int as) {
    posix_spawn_file_actions_adddup2(&actions_, from.get(), as);
  }
  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

// Reads what is there. False when nothing will ever follow.
bool drain(Descriptor& from, std::string& to, int64_t most, bool& cut) {
  char buffer[16384];
  while (true) {
    const ssize_t n = read(from.get(), buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return true;
    if (n <= 0) return false;
    to.append(buffer, static_cast<size_t>(n));
    if (static_cast<int64_t>(to.size()) > most) {
      to.resize(static_cast<size_t>(most));
      cut = true;
      return false;
    }
  }
}

// Writes what fits. False when all is written or nobody reads.
bool feed(Descriptor& to, std::string_view& input) {
  while (!input.empty()) {
    const ssize_t n = send(to.get(), input.data(), input.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN;
    input.remove_prefix(static_cast<size_t>(n));
  }
  return false;
}

// Moves bytes until both outputs are closed, the time is up or too much was written.
void exchange(Descriptor& in, Descriptor& out, Descriptor& err, std::string_view input,
              steady_clock::time_point deadline, int64_t output_bytes, ChildEnd& end) {
  while (out.is_open() || err.is_open()) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now()).count();
    if (left <= 0) {
      end.timed_out = true;
      return;
    }
    pollfd polled[] = {{in.get(), POLLOUT, 0}, {out.get(), POLLIN, 0}, {err.get(), POLLIN, 0}};
    if (poll(polled, 3, static_cast<int>(left)) < 0 && errno != EINTR) return;
    if (in.is_open() && polled[0].revents != 0 && !feed(in, input)) in.close();
    if (out.is_open() && polled[1].revents != 0 &&
        !drain(out, end.out, output_bytes, end.output_cut)) {
      out.close();
    }
    if (err.is_open() && polled[2].revents != 0 &&
        !drain(err, end.err, output_bytes, end.output_cut)) {
      err.close();
    }
    if (end.output_cut) return;
  }
}

// A child that closed its outputs may go on running.
void wait_until(pid_t child, steady_clock::time_point deadline, ChildEnd& end) {
  while (!end.timed_out && !end.output_cut) {
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) != 0) break;
    if (info.si_pid == child) return;
    if (steady_clock::now() >= deadline) {
      end.timed_out = true;
      break;
    }
    poll(nullptr, 0, 1);
  }
  kill(child, SIGKILL);
}

}  // namespace

Result<ChildEnd> run_child(const std::string& program, const std::vector<std::string>& arguments,
                           std::string_view input, const std::vector<ChildFile>& files,
                           std::chrono::milliseconds time, int64_t output_bytes) {
  Descriptor mine[3];
  Descriptor theirs[3];
  SpawnActions actions;
  for (int i = 0; i < 3; ++i) {
    RETURN_IF_ERROR(make_pipe(mine[i], theirs[i]));
    actions.give(theirs[i], i);
  }
  std::vector<Descriptor> held;
  for (const ChildFile& file : files) {
    RETURN_IF_ERROR(in_memory(file.content, held.emplace_back()));
    actions.give(held.back(), file.at);
  }
  std::vector<char*> argv = {const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  char* no_environment[] = {nullptr};
  const auto deadline = steady_clock::now() + time;
  pid_t child = 0;
  const int failed =
      posix_spawn(&child, program.c_str(), actions.get(), nullptr, argv.data(), no_environment);
  if (failed != 0) return error(Code::Unavailable, "{}", errno_status(failed, program).message());
  for (Descriptor& end : theirs) end.close();

  ChildEnd end;
  exchange(mine[0], mine[1], mine[2], input, deadline, output_bytes, end);
  for (Descriptor& pipe : mine) pipe.close();
  wait_until(child, deadline, end);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  end.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return end;
}

}  // namespace sluice
