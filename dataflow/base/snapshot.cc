#include "dataflow/base/snapshot.h"

#include "dataflow/base/ids.h"

#include <cstring>

namespace sluice {
namespace {

constexpr std::string_view kMagic = "SLUICE-SNAP-1\n";  // also tells byte order apart: see kOrder
constexpr uint32_t kOrder = 0x01020304;

void append(std::string& out, uint64_t number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

bool take(std::string_view& in, void* out, size_t size) {
  if (in.size() < size) return false;
  std::memcpy(out, in.data(), size);
  in.remove_prefix(size);
  return true;
}

bool take_text(std::string_view& in, std::string& out) {
  uint64_t size = 0;
  if (!take(in, &size, sizeof size) || size > in.size()) return false;
  out.assign(in.data(), size);
  in.remove_prefix(size);
  return true;
}

Status damaged(std::string_view what) {
  return error(Code::DataLoss, "snapshot is damaged: {}", what);
}

}  // namespace

Result<std::string_view> Snapshot::get(std::string_view name) const {
  const auto found = blobs_.find(name);
  if (found == blobs_.end()) return error(Code::NotFound, "snapshot has no '{}'", name);
  return std::string_view(found->second);
}

Status Snapshot::get_bytes(std::string_view name, void* out, size_t size) const {
  ASSIGN_OR_RETURN(const std::string_view bytes, get(name));
  if (bytes.size() != size) {
    return error(Code::DataLoss, "snapshot entry '{}' has {} bytes, expected {}", name,
                 bytes.size(), size);
  }
  if (size != 0) std::memcpy(out, bytes.data(), size);
  return {};
}

Status Snapshot::get_value(std::string_view name, bool& out) const {
  uint8_t byte = 0;
  RETURN_IF_ERROR(get_bytes(name, &byte, sizeof byte));
  if (byte > 1) {
    return error(Code::DataLoss, "snapshot entry '{}' is {}, not true or false", name, byte);
  }
  out = byte == 1;
  return {};
}

std::string Snapshot::encode() const {
  std::string out(kMagic);
  out.append(reinterpret_cast<const char*>(&kOrder), sizeof kOrder);
  append(out, blobs_.size());
  for (const auto& [name, bytes] : blobs_) {
    append(out, name.size());
    out += name;
    append(out, bytes.size());
    out += bytes;
  }
  append(out, digest(out.data(), out.size()));
  return out;
}

Result<Snapshot> Snapshot::decode(std::string_view bytes) {
  if (!bytes.starts_with(kMagic))
    return error(Code::DataLoss, "not a Sluice snapshot (or another format version)");
  uint64_t sum = 0;
  if (bytes.size() < kMagic.size() + sizeof sum) return damaged("it is cut short");
  const std::string_view body = bytes.substr(0, bytes.size() - sizeof sum);
  std::memcpy(&sum, bytes.data() + body.size(), sizeof sum);
  if (sum != digest(body.data(), body.size())) return damaged("the checksum does not match");

  std::string_view in = body.substr(kMagic.size());
  uint32_t order = 0;
  uint64_t count = 0;
  if (!take(in, &order, sizeof order) || order != kOrder) return damaged("other byte order");
  if (!take(in, &count, sizeof count)) return damaged("it is cut short");
  Snapshot out;
  for (uint64_t i = 0; i < count; ++i) {
    std::string name;
    std::string blob;
    if (!take_text(in, name) || !take_text(in, blob)) return damaged("it is cut short");
    out.put(std::move(name), std::move(blob));
  }
  if (!in.empty()) return damaged("bytes are left over");
  return out;
}

}  // namespace sluice
