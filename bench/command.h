#pragma once
#include "bench/bench.h"

#include <string>

namespace sluice::bench {

/// `sluice bench [NAME] [--list] [--json FILE] [--peer-python PATH] [--seconds S] [--seed N]`.
struct BenchCommand {
  std::string name;
  bool list = false;
  std::string json;  ///< file for the JSON object; "-" = standard output
  BenchOptions options;
};

/// Runs the command and prints what it comes to. Returns the exit code: 0 = measured (whether the
/// goals were met or not), 1 = could not measure, 2 = wrong use.
int run_bench_command(const BenchCommand& command);

}  // namespace sluice::bench
