#include "apps/cli/commands.h"
#include "dataflow/base/cpu.h"
#include "dataflow/base/result.h"
#include "trainer/cuda/device.h"

#include <ATen/Parallel.h>
#include <CLI/CLI.hpp>
#include <dlfcn.h>
#include <sys/statvfs.h>
#include <torch/headeronly/version.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace sluice {
namespace {

/// One line of the report. A missing thing that matters is a problem; the rest is only said.
struct Finding {
  enum class Kind : uint8_t { Good, Optional, Problem };
  Kind kind = Kind::Good;
  std::string what;
  std::string how;  ///< how to get it
};

bool on_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const size_t colon = rest.find(':');
    const std::string file = std::string(rest.substr(0, colon)) + "/" + program;
    if (access(file.c_str(), X_OK) == 0) return true;
    rest = colon == std::string_view::npos ? "" : rest.substr(colon + 1);
  }
  return false;
}

Finding tool(const std::string& program, const std::string& why, const std::string& how) {
  if (on_path(program)) return {Finding::Kind::Good, program + ": " + why, ""};
  return {Finding::Kind::Optional, program + " is missing: " + why, how};
}

Finding processor() {
  const auto cores = std::thread::hardware_concurrency();
  if (supported(Isa::Avx512))
    return {Finding::Kind::Good, fmt::format("{} processors with AVX-512", cores), ""};
  if (supported(Isa::Avx2))
    return {Finding::Kind::Good, fmt::format("{} processors with AVX2", cores), ""};
  return {Finding::Kind::Optional,
          fmt::format("{} processors without AVX2: the plain kernels run, slowly", cores),
          "a processor of 2013 or later"};
}

Finding memory() {
  const double gib = static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                     static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 30);
  if (gib >= 4) return {Finding::Kind::Good, fmt::format("{:.1f} GiB of memory", gib), ""};
  return {Finding::Kind::Optional, fmt::format("{:.1f} GiB of memory", gib),
          "building takes about 2 GiB per job"};
}

Finding disk() {
  struct statvfs fs {};
  if (statvfs(".", &fs) != 0)
    return {Finding::Kind::Problem, "this folder cannot be read", "run it elsewhere"};
  const double gib =
      static_cast<double>(fs.f_bavail) * static_cast<double>(fs.f_frsize) / (1 << 30);
  const bool writable = access(".", W_OK) == 0;
  if (!writable)
    return {Finding::Kind::Problem, "this folder is not writable: runs cannot be kept here",
            "--out DIR"};
  if (gib < 1)
    return {Finding::Kind::Problem, fmt::format("{:.1f} GiB free on this disk", gib),
            "checkpoints need room"};
  return {Finding::Kind::Good, fmt::format("{:.1f} GiB free on this disk", gib), ""};
}

Finding gpu() {
  auto library = CudaLibrary::load();
  if (!library.ok()) {
    return {Finding::Kind::Optional, "no GPU code: " + library.status().message(),
            "cmake --preset cuda, scripts/setup.sh --cuda"};
  }
  const auto device = library->probe();
  if (!device.ok()) return {Finding::Kind::Optional, "no GPU: " + device.status().message(), ""};
  return {Finding::Kind::Good,
          fmt::format("GPU {} with {:.0f} GiB", device->name,
                      static_cast<double>(device->memory_bytes) / (1 << 30)),
          ""};
}

/// The library this program runs with.
Finding libtorch() {
  Dl_info info{};
  const bool found = dladdr(reinterpret_cast<void*>(&at::get_num_threads), &info) != 0;
  return {
      Finding::Kind::Good,
      fmt::format("LibTorch {} from {}", TORCH_VERSION, found ? info.dli_fname : "this program"),
      ""};
}

/// What a build of this program's sources needs and this machine lacks, as scripts/setup.sh says.
void build_needs(std::vector<Finding>& out) {
  const std::string setup = SLUICE_SOURCES "/scripts/setup.sh";
  if (access(setup.c_str(), X_OK) != 0) {
    out.push_back({Finding::Kind::Optional, "the sources are not where they were built", ""});
    return;
  }
  std::string missing;
  std::FILE* pipe = popen(("'" + setup + "' --check 2>&1").c_str(), "r");
  if (pipe == nullptr) return;
  std::array<char, 256> block{};
  while (std::fgets(block.data(), block.size(), pipe) != nullptr) missing += block.data();
  if (pclose(pipe) == 0) {
    out.push_back({Finding::Kind::Good, "everything that a build needs", ""});
    return;
  }
  for (size_t at = 0, end = 0; (end = missing.find('\n', at)) != std::string::npos; at = end + 1) {
    out.push_back({Finding::Kind::Problem,
                   missing.substr(at, end - at) + " is missing: a build needs it",
                   "scripts/setup.sh"});
  }
}

}  // namespace

void add_doctor_command(CLI::App& app, int& exit_code) {
  CLI::App* doctor =
      app.add_subcommand("doctor", "say what is missing on this machine and how to get it");
  doctor->callback([&exit_code] {
    std::vector<Finding> findings = {
        processor(), memory(),   disk(),
        gpu(),       libtorch(), tool("dot", "draws graph.dot", "apt-get install graphviz")};
    build_needs(findings);
    exit_code = 0;
    for (const auto& f : findings) {
      const char* mark = f.kind == Finding::Kind::Good       ? "ok  "
                         : f.kind == Finding::Kind::Optional ? "--  "
                                                             : "BAD ";
      std::printf("%s%s%s%s\n", mark, f.what.c_str(), f.how.empty() ? "" : "  -> ", f.how.c_str());
      if (f.kind == Finding::Kind::Problem) exit_code = 1;
    }
  });
}

}  // namespace sluice
