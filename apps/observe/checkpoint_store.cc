#include "apps/observe/checkpoint_store.h"

#include "dataflow/base/files.h"
#include "dataflow/base/ids.h"
#include "dataflow/base/log.h"

#include <fcntl.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

namespace sluice {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr int kFormat = 1;
constexpr std::string_view kPrefix = "step-";
constexpr std::string_view kTemporary = ".tmp";
constexpr std::string_view kManifest = "manifest.json";

// Worker names hold slashes and the like; file names must not.
std::string file_name(std::string_view worker) {
  std::string out;
  for (const char c : worker) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.';
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out + ".snapshot";
}

std::string hex_digest(std::string_view bytes) {
  return fmt::format("{:016x}", digest(bytes.data(), bytes.size()));
}

// The manifest's own digest covers everything in it but itself.
std::string seal(const Json& manifest) {
  return hex_digest(manifest.dump(-1, ' ', false, Json::error_handler_t::replace));
}

Status damaged(const std::string& file, std::string_view why) {
  return error(Code::DataLoss, "checkpoint file '{}' is damaged: {}", file, why);
}

Result<RunCheckpoint> read_checkpoint(const std::string& path, const std::string& graph) {
  const std::string manifest_path = path + "/" + std::string(kManifest);
  const auto text = read_file(manifest_path);
  if (!text.ok()) {
    const Code code = fs::exists(path) ? Code::DataLoss : Code::NotFound;
    return Status(code, text.status().message());
  }
  Json manifest = Json::parse(*text, nullptr, false);
  if (!manifest.is_object() || !manifest.contains("digest")) {
    return damaged(manifest_path, "it is no manifest");
  }
  const Json sealed = manifest["digest"];
  manifest.erase("digest");
  if (sealed != Json(seal(manifest))) return damaged(manifest_path, "the checksum does not match");
  if (manifest.value("format", Json()) != Json(kFormat)) {
    return invalid_argument("checkpoint '{}' has format {}, this program reads format {}", path,
                            manifest.value("format", Json()).dump(), kFormat);
  }
  if (manifest.at("graph") != Json(graph)) {
    return invalid_argument("checkpoint '{}' is of graph {}, not of '{}'", path,
                            manifest.at("graph").dump(), graph);
  }
  RunCheckpoint out;
  out.path = path;
  manifest.at("step").get_to(out.step);
  manifest.at("info").get_to(out.info);
  for (const Json& entry : manifest.at("workers")) {
    const auto worker = entry.at("name").get<std::string>();
    const std::string file = path + "/" + file_name(worker);
    const auto bytes = read_file(file);
    if (!bytes.ok()) return damaged(file, bytes.status().message());
    const auto expected = entry.at("size").get<size_t>();
    if (bytes->size() != expected) {
      return damaged(file, fmt::format("it has {} bytes, not {}", bytes->size(), expected));
    }
    if (hex_digest(*bytes) != entry.at("digest").get<std::string>()) {
      return damaged(file, "the checksum does not match");
    }
    auto snapshot = Snapshot::decode(*bytes);
    if (!snapshot.ok()) return snapshot.status().with_context(file);
    out.workers.emplace(worker, *std::move(snapshot));
  }
  return out;
}

}  // namespace

Status CheckpointStore::write(const std::string& path, int64_t step,
                              const std::map<std::string, Snapshot>& workers,
                              const std::map<std::string, std::string>& info) const {
  Json manifest{{"format", kFormat}, {"graph", graph_}, {"step", step}, {"info", info}};
  manifest["workers"] = Json::array();
  for (const auto& [name, snapshot] : workers) {
    const std::string bytes = snapshot.encode();
    RETURN_IF_ERROR(write_file(path + "/" + file_name(name), bytes));
    manifest["workers"].push_back(
        {{"name", name}, {"size", bytes.size()}, {"digest", hex_digest(bytes)}});
  }
  // All at once: the first sync of thousands of files then has done the work for most others.
  for (const auto& [name, snapshot] : workers) {
    RETURN_IF_ERROR(sync_file(path + "/" + file_name(name)));
  }
  manifest["digest"] = seal(manifest);
  RETURN_IF_ERROR(
      write_file_synced(path + "/" + std::string(kManifest),
                        manifest.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"));
  return sync_folder(path);
}

Status CheckpointStore::save(int64_t step, const std::map<std::string, Snapshot>& workers,
                             const std::map<std::string, std::string>& info) {
  const std::string path = fmt::format("{}/{}{:09}", folder_, kPrefix, step);
  const std::string temporary = path + std::string(kTemporary);
  std::error_code failed;
  fs::remove_all(temporary, failed);
  // Only the last folder: a run directory that was deleted must not come back half.
  fs::create_directory(temporary, failed);
  Status status = failed ? errno_status(failed.value(), fmt::format("cannot make '{}'", temporary))
                         : write(temporary, step, workers, info);
  if (status.ok() && ::rename(temporary.c_str(), path.c_str()) != 0) {
    // There is one of this step already. Where the file system cannot exchange the two at once, the
    // old one has to go first; the checkpoint before it stays.
    if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) != 0) {
      fs::remove_all(path, failed);
      if (::rename(temporary.c_str(), path.c_str()) != 0) {
        status = errno_status(errno, fmt::format("cannot rename '{}'", temporary));
      }
    }
  }
  if (status.ok()) status = sync_folder(folder_);
  fs::remove_all(temporary, failed);
  if (status.ok()) prune();
  return status.with_context(fmt::format("checkpoint of step {} was not saved", step));
}

std::vector<std::string> CheckpointStore::list() const {
  std::vector<std::pair<int64_t, std::string>> found;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder_, failed)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    const std::string digits = name.substr(kPrefix.size());
    if (digits.empty() || digits.size() > 18 ||
        digits.find_first_not_of("0123456789") != std::string::npos) {
      continue;
    }
    found.emplace_back(std::stoll(digits), folder_ + "/" + name);
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<std::string> out;
  for (auto& [step, path] : found) out.push_back(std::move(path));
  return out;
}

void CheckpointStore::prune() const {
  std::error_code failed;
  const auto all = list();
  for (size_t i = static_cast<size_t>(std::max<int64_t>(keep_, 1)); i < all.size(); ++i) {
    // Renamed first, so that a crash half way never leaves half a checkpoint under its name.
    const std::string doomed = all[i] + std::string(kTemporary);
    fs::rename(all[i], doomed, failed);
    fs::remove_all(doomed, failed);
  }
  // What a killed process left half written or half deleted.
  std::vector<fs::path> leftovers;
  for (const auto& entry : fs::directory_iterator(folder_, failed)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kPrefix) && name.ends_with(kTemporary)) leftovers.push_back(entry.path());
  }
  for (const auto& path : leftovers) fs::remove_all(path, failed);
}

Result<RunCheckpoint> CheckpointStore::load(const std::string& path) const {
  try {
    return read_checkpoint(path, graph_);
  } catch (const Json::exception& e) {
    return damaged(path + "/" + std::string(kManifest), e.what());
  }
}

Result<RunCheckpoint> CheckpointStore::load_latest() const {
  for (const std::string& path : list()) {
    auto checkpoint = load(path);
    if (checkpoint.ok() || checkpoint.status().code() == Code::InvalidArgument) return checkpoint;
    log(LogLevel::Warning, "{}; trying the checkpoint before it", checkpoint.status().message());
  }
  return error(Code::NotFound, "no usable checkpoint in '{}'", folder_);
}

}  // namespace sluice
