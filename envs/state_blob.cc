#include "envs/state_blob.h"

#include <xxhash.h>

#include <cstdint>
#include <cstring>

namespace sluice {
namespace {

constexpr std::string_view kMagic = "sluice-env/1 ";

}  // namespace

std::string pack_bytes(std::string_view env, std::span<const std::byte> state) {
  std::string blob;
  blob.reserve(kMagic.size() + env.size() + 1 + state.size() + sizeof(uint64_t));
  blob.append(kMagic).append(env).append(1, '\n');
  blob.append(reinterpret_cast<const char*>(state.data()), state.size());
  const uint64_t checksum = XXH3_64bits(blob.data(), blob.size());
  blob.append(reinterpret_cast<const char*>(&checksum), sizeof(checksum));
  return blob;
}

Status unpack_bytes(std::string_view env, std::string_view blob, std::span<std::byte> state) {
  const size_t newline = blob.find('\n');
  if (!blob.starts_with(kMagic) || newline == std::string_view::npos) {
    return error(Code::DataLoss, "{}: {} bytes that are not the state of an environment", env,
                 blob.size());
  }
  uint64_t checksum = 0;
  const std::string_view body = blob.substr(newline + 1);
  if (body.size() < sizeof(checksum)) {
    return error(Code::DataLoss, "{}: the state is cut off after {} bytes", env, blob.size());
  }
  std::memcpy(&checksum, blob.data() + blob.size() - sizeof(checksum), sizeof(checksum));
  if (XXH3_64bits(blob.data(), blob.size() - sizeof(checksum)) != checksum) {
    return error(Code::DataLoss, "{}: the {} bytes of state are damaged (wrong checksum)", env,
                 blob.size());
  }
  const std::string_view owner = blob.substr(kMagic.size(), newline - kMagic.size());
  if (owner != env) return error(Code::DataLoss, "{}: this is the state of '{}'", env, owner);
  const size_t size = body.size() - sizeof(checksum);
  if (size != state.size()) {
    return error(Code::DataLoss,
                 "{}: a state of {} bytes, not {}; was it saved by another version?", env, size,
                 state.size());
  }
  std::memcpy(state.data(), body.data(), size);
  return {};
}

}  // namespace sluice
