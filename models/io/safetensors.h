#pragma once
#include "models/io/byte_source.h"
#include "models/io/mapped_file.h"
#include "models/io/stored_scalar.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace sluice {

/// One tensor of a safetensors file.
struct SafetensorsEntry {
  std::string name;
  StoredType type = StoredType::F32;
  std::vector<int64_t> shape;
  uint64_t offset = 0;  ///< from the start of the file
  uint64_t bytes = 0;
};

/// What the header of a safetensors file says, checked: entries in the order of their bytes, which
/// fill the rest of the file without hole or overlap.
struct SafetensorsHeader {
  static constexpr uint64_t kMaxBytes = 100'000'000;

  std::vector<SafetensorsEntry> entries;
  std::map<std::string, std::string> metadata;

  /// Reads and checks a header. Every way to be malformed has its own one-line message, without the
  /// file's name. Memory stays within a small multiple of the header's size.
  static Result<SafetensorsHeader> parse(const ByteSource& source);
};

/// A safetensors file, mapped. Any thread.
class SafetensorsFile {
 public:
  /// Errors name the file.
  static Result<SafetensorsFile> open(const std::string& path);

  [[nodiscard]] const SafetensorsHeader& header() const noexcept { return header_; }
  [[nodiscard]] const MappedFile& file() const noexcept { return *file_; }

  /// The tensor as stored, converted to `as`. It looks at the mapping, which it keeps alive, when
  /// the type is the same and the bytes are aligned for it (see MappedFile for what that means);
  /// else, or when `copy` says so, it is a copy. Unimplemented for types below a byte.
  Result<at::Tensor> read(const SafetensorsEntry& entry, at::ScalarType as,
                          bool copy = false) const;

 private:
  std::shared_ptr<MappedFile> file_;
  SafetensorsHeader header_;
};

}  // namespace sluice
