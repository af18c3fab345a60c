#pragma once
#include "dataflow/base/result.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// What a child process did within its bounds.
struct ChildEnd {
  int exit_code = 0;  ///< 128 + n after signal n
  bool timed_out = false;
  bool output_cut = false;
  std::string out;
  std::string err;
};

/// Bytes that the child finds as an open file under the number `at` (100 or above).
struct ChildFile {
  int at = 100;
  std::string content;
};

/// Runs a program to its end, feeding `input` and reading stdout and stderr (of each at most
/// `output_bytes`). Kills it with SIGKILL at the deadline or when it writes more. Unavailable when
/// it cannot be started. Any thread; signals of this process are left alone.
Result<ChildEnd> run_child(const std::string& program, const std::vector<std::string>& arguments,
                           std::string_view input, const std::vector<ChildFile>& files,
                           std::chrono::milliseconds time, int64_t output_bytes);

}  // namespace sluice
