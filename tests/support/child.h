#pragma once
#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::testing {

/// How a child process ended and what it printed. `code` is its exit code, or 128 + the signal that
/// killed it.
struct Ended {
  int code = -1;
  bool timed_out = false;  ///< it was killed because it took too long
  std::string out;
  std::string err;
};

/// A program run as a child: arguments and environment given, standard input empty, output and
/// errors captured in files. One thread. The destructor kills and reaps what still runs.
class Child {
 public:
  using Environment = std::vector<std::pair<std::string, std::string>>;

  /// `command[0]` is looked up in PATH unless it holds a slash.
  explicit Child(std::vector<std::string> command, const Environment& more = {});
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void signal(int number) const;
  [[nodiscard]] bool running();
  /// Polls until `done`; false when the child ended or `seconds` passed first.
  /// wait_for: until the file at `path` (or what was printed, when `path` is "") contains `text`.
  bool wait_until(const std::function<bool()>& done, double seconds);
  bool wait_for(std::string_view text, double seconds, const std::string& path = "");
  /// Waits for the end; kills the child when that takes longer.
  Ended wait(double seconds = 60);
  /// What was printed to either stream so far.
  [[nodiscard]] std::string printed() const;

 private:
  void reap(int options);

  pid_t pid_ = -1;
  int out_ = -1;
  int err_ = -1;
  bool ended_ = false;
  int status_ = 0;
};

/// The real command: build/<preset>/bin/sluice.
std::string sluice_binary();
/// Runs `sluice ARGUMENTS..` to its end.
Ended sluice(std::vector<std::string> arguments, double seconds = 60,
             const Child::Environment& more = {});
/// {"sluice", "run", "ppo", "--quiet", ..} for small, quick runs: one trainer thread, few
/// environments, no evaluation; `more` comes last and wins.
std::vector<std::string> small_run(const std::string& out, std::vector<std::string> more = {});

}  // namespace sluice::testing
