#include "bench/command.h"

#include "bench/report.h"
#include "dataflow/base/files.h"

#include <ATen/Parallel.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <filesystem>

namespace sluice::bench {
namespace {

int fail(const Status& status, int code) {
  std::fprintf(stderr, "error: %s\n", status.message().c_str());
  return code;
}

void list() {
  for (const Bench& bench : benches()) {
    std::fputs(fmt::format("{:<14} {}\n", bench.name, bench.doc).c_str(), stdout);
  }
}

Result<Report> measure(const Bench& bench, const BenchOptions& options) {
  try {
    return bench.run(options);
  } catch (const std::exception& e) {
    return error(Code::Internal, "{}", e.what());
  }
}

/// A measurement takes minutes: whether it can be kept is looked at before.
Status check_target(const std::string& file) {
  if (file.empty() || file == "-") return {};
  const std::string folder = std::filesystem::path(file).parent_path().string();
  if (::access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) != 0) {
    return errno_status(errno, fmt::format("cannot write '{}'", file));
  }
  if (std::filesystem::is_directory(file)) {
    return invalid_argument("cannot write '{}': it is a folder", file);
  }
  return {};
}

}  // namespace

int run_bench_command(const BenchCommand& command) {
  if (command.list) {
    list();
    return 0;
  }
  if (command.options.seconds < 0) return fail(invalid_argument("--seconds must be positive"), 2);
  const auto bench = find_bench(command.name);
  if (!bench.ok()) return fail(bench.status(), 2);
  const Status target = check_target(command.json);
  if (!target.ok()) return fail(target.with_context("--json"), 2);
  // As for every run: our threads are the loops', not the tensor library's.
  (void)at::get_num_threads();
  at::set_num_threads(1);
  const auto report = measure(*bench, command.options);
  if (!report.ok()) return fail(report.status().with_context(bench->name), 1);
  if (command.json == "-") {
    std::fputs(to_json(bench->name, *report).c_str(), stdout);
    return 0;
  }
  std::fputs(to_table(bench->name, *report).c_str(), stdout);
  if (!command.json.empty()) {
    const Status written = write_file_atomic(command.json, to_json(bench->name, *report));
    if (!written.ok()) return fail(written, 1);
  }
  return 0;
}

}  // namespace sluice::bench
