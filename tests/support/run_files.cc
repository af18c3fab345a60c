#include "tests/support/run_files.h"

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace sluice::testing {

namespace fs = std::filesystem;

TempDir::TempDir() {
  std::string pattern = (fs::temp_directory_path() / "sluice-test-XXXXXX").string();
  path_ = ::mkdtemp(pattern.data());
}

TempDir::~TempDir() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::vector<std::map<std::string, double>> metric_rows(const std::string& run) {
  std::vector<std::map<std::string, double>> rows;
  std::ifstream file(run + "/metrics.jsonl");
  for (std::string line; std::getline(file, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object()) continue;
    auto& row = rows.emplace_back();
    for (const auto& [name, value] : json.items()) {
      if (value.is_number()) row[name] = value.get<double>();
    }
  }
  return rows;
}

double last_metric(const std::string& run, const std::string& name, double otherwise) {
  const auto rows = metric_rows(run);
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
    if (const auto found = row->find(name); found != row->end()) return found->second;
  }
  return otherwise;
}

std::vector<std::string> checkpoints(const std::string& run) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(run + "/checkpoints", ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".tmp")) names.push_back(name);
  }
  std::sort(names.rbegin(), names.rend());
  return names;
}

void damage(const std::string& checkpoint) {
  for (const auto& entry : fs::directory_iterator(checkpoint)) {
    if (entry.path().extension() != ".snapshot") continue;
    std::string bytes = read_text(entry.path().string());
    char& middle = bytes[bytes.size() / 2];
    middle = static_cast<char>(~middle);
    write_text(entry.path().string(), bytes);
  }
}

bool in_use(const std::string& run) {
  const int fd = ::open((run + "/.lock").c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return false;
  const bool taken = ::flock(fd, LOCK_EX | LOCK_NB) != 0;
  ::close(fd);
  return taken;
}

}  // namespace sluice::testing
