#include "tests/support/child.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>

namespace sluice::testing {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kPoll{5};

Clock::time_point in(double seconds) {
  return Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

std::string read_all(int fd) {
  std::string text;
  char buffer[4096];
  off_t at = 0;
  for (ssize_t n; (n = ::pread(fd, buffer, sizeof buffer, at)) > 0; at += n) {
    text.append(buffer, static_cast<size_t>(n));
  }
  return text;
}

}  // namespace

Child::Child(std::vector<std::string> command, const Environment& more)
    : out_(::memfd_create("out", MFD_CLOEXEC)), err_(::memfd_create("err", MFD_CLOEXEC)) {
  std::vector<char*> arguments;
  for (auto& argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ != 0) return;
  for (const auto& [name, value] : more) ::setenv(name.c_str(), value.c_str(), 1);
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, 0);
  ::dup2(out_, 1);
  ::dup2(err_, 2);
  ::signal(SIGINT, SIG_DFL);
  ::execvp(arguments[0], arguments.data());
  ::_exit(127);
}

Child::~Child() {
  if (!ended_) {
    signal(SIGKILL);
    reap(0);
  }
  ::close(out_);
  ::close(err_);
}

void Child::reap(int options) {
  if (!ended_ && ::waitpid(pid_, &status_, options) == pid_) ended_ = true;
}

void Child::signal(int number) const {
  if (!ended_) ::kill(pid_, number);
}

bool Child::running() {
  reap(WNOHANG);
  return !ended_;
}

bool Child::wait_until(const std::function<bool()>& done, double seconds) {
  const auto deadline = in(seconds);
  for (;;) {
    const bool alive = running();  // before the look, so that the last words are not missed
    if (done()) return true;
    if (!alive || Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(kPoll);
  }
}

bool Child::wait_for(std::string_view text, double seconds, const std::string& path) {
  return wait_until(
      [&] {
        std::string seen;
        if (path.empty()) {
          seen = printed();
        } else {
          std::ifstream file(path);
          seen.assign(std::istreambuf_iterator<char>(file), {});
        }
        return seen.find(text) != std::string::npos;
      },
      seconds);
}

Ended Child::wait(double seconds) {
  Ended result;
  const auto deadline = in(seconds);
  while (running()) {
    if (Clock::now() >= deadline) {
      result.timed_out = true;
      signal(SIGKILL);
      reap(0);
      break;
    }
    std::this_thread::sleep_for(kPoll);
  }
  result.code = WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
  result.out = read_all(out_);
  result.err = read_all(err_);
  return result;
}

std::string Child::printed() const { return read_all(out_) + read_all(err_); }

std::string sluice_binary() { return SLUICE_COMMAND; }

Ended sluice(std::vector<std::string> arguments, double seconds, const Child::Environment& more) {
  arguments.insert(arguments.begin(), sluice_binary());
  return Child(std::move(arguments), more).wait(seconds);
}

std::vector<std::string> small_run(const std::string& out, std::vector<std::string> more) {
  std::vector<std::string> all{sluice_binary(), "run", "ppo", "--quiet", "--out", out};
  for (const char* setting : {"threads=1", "envs=8", "horizon=16", "eval_every=0", "max_steps=0",
                              "ppo.epochs=1", "ppo.minibatches=4"}) {
    all.emplace_back("--set");
    all.emplace_back(setting);
  }
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace sluice::testing
