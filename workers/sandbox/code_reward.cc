#include "workers/sandbox/code_reward.h"

namespace sluice {

std::optional<std::string> last_code_block(std::string_view response) {
  constexpr std::string_view kFence = "```";
  std::optional<std::string> last;
  std::optional<size_t> begin;  // of the block that is open
  size_t at = 0;
  while (at < response.size()) {
    const size_t end = std::min(response.find('\n', at), response.size());
    if (response.substr(at).starts_with(kFence)) {
      if (begin) {
        last = std::string(response.substr(*begin, at - *begin));
        begin.reset();
      } else {
        begin = std::min(end + 1, response.size());
      }
    }
    at = end + 1;
  }
  return last;
}

RewardFunction python_tests_pass(Sandbox sandbox, SandboxLimits limits) {
  return [sandbox = std::move(sandbox), limits](const TextProblem& problem,
                                                std::string_view response) -> Result<double> {
    const auto tests = problem.fields.find("tests");
    if (tests == problem.fields.end()) return invalid_argument("the problem has no field 'tests'");
    const auto code = last_code_block(response);
    if (!code) return 0.0;
    // Passing means coming to the last line: a program that leaves before its tests has not.
    constexpr std::string_view kDone = "\nimport sys as _s; _s.exit(43)\n";
    ASSIGN_OR_RETURN(
        const SandboxRun run,
        sandbox.run({"/usr/bin/python3", "-I", "main.py"}, "",
                    {{"main.py", fmt::format("{}\n{}{}", *code, tests->second, kDone)}}, limits));
    return run.exit_code == 43 && !run.timed_out && !run.output_cut ? 1.0 : 0.0;
  };
}

}  // namespace sluice
