#pragma once
#include "dataflow/base/result.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace sluice {

/// A worker's saved state: named blobs in order of name. encode() gives one self-describing,
/// checksummed byte string; decode() refuses anything else. Blobs are native-endian, so a snapshot
/// is for the machine type that wrote it (the header says which).
class Snapshot {
 public:
  void put(std::string name, std::string bytes) { blobs_[std::move(name)] = std::move(bytes); }
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void put_value(std::string name, const T& value) {
    put(std::move(name), std::string(reinterpret_cast<const char*>(&value), sizeof value));
  }
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void put_array(std::string name, std::span<const T> values) {
    put(std::move(name),
        std::string(reinterpret_cast<const char*>(values.data()), values.size_bytes()));
  }

  [[nodiscard]] bool has(std::string_view name) const { return blobs_.find(name) != blobs_.end(); }
  /// NotFound names the missing blob.
  [[nodiscard]] Result<std::string_view> get(std::string_view name) const;
  /// DataLoss when the blob has another size than T.
  template <class T>
  requires std::is_trivially_copyable_v<T> Status get_value(std::string_view name, T& out)
  const { return get_bytes(name, &out, sizeof out); }
  /// DataLoss also for a byte that is neither 0 nor 1.
  Status get_value(std::string_view name, bool& out) const;
  /// Fills `out` exactly; DataLoss when the sizes differ.
  template <class T>
  requires std::is_trivially_copyable_v<T> Status get_array(std::string_view name, std::span<T> out)
  const { return get_bytes(name, out.data(), out.size_bytes()); }
  [[nodiscard]] const std::map<std::string, std::string, std::less<>>& blobs() const {
    return blobs_;
  }

  [[nodiscard]] std::string encode() const;
  /// DataLoss: not a snapshot, another format version, truncated, or the checksum is wrong.
  static Result<Snapshot> decode(std::string_view bytes);

 private:
  Status get_bytes(std::string_view name, void* out, size_t size) const;

  std::map<std::string, std::string, std::less<>> blobs_;
};

}  // namespace sluice
