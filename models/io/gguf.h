#pragma once
#include "models/io/byte_source.h"
#include "models/io/stored_type.h"

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace sluice {

/// Types of GGUF metadata values, numbered as in the file.
enum class GgufType : uint32_t {
  U8 = 0,
  I8 = 1,
  U16 = 2,
  I16 = 3,
  U32 = 4,
  I32 = 5,
  F32 = 6,
  Bool = 7,
  String = 8,
  Array = 9,
  U64 = 10,
  I64 = 11,
  F64 = 12,
};

[[nodiscard]] std::string_view name(GgufType type) noexcept;

/// An array of metadata. Whole numbers and booleans are in `ints`, floats in `floats`.
struct GgufArray {
  GgufType element = GgufType::U8;
  std::vector<int64_t> ints;
  std::vector<double> floats;
  std::vector<std::string> strings;
  std::vector<GgufArray> arrays;

  [[nodiscard]] size_t size() const noexcept {
    return ints.size() + floats.size() + strings.size() + arrays.size();
  }
};

/// One metadata value. U64 above 2^63 wraps, as no key of ours has such.
struct GgufValue {
  GgufType type = GgufType::U32;
  std::variant<int64_t, double, std::string, GgufArray> value;
};

/// The number that GGUF files write for a tensor type; the type must be one of theirs.
[[nodiscard]] uint32_t gguf_type_number(StoredType type);

/// One tensor of a GGUF file; `shape` is in the order of Hugging Face: rows first, the fastest
/// dimension last.
struct GgufTensor {
  std::string name;
  StoredType type = StoredType::F32;
  std::vector<int64_t> shape;
  uint64_t offset = 0;  ///< from the start of the file
  uint64_t bytes = 0;
};

/// What stands before the data of a GGUF file (versions 2 and 3), checked against its size.
struct GgufHeader {
  static constexpr size_t kMaxDimensions = 4;
  static constexpr size_t kMaxNameBytes = 256;
  static constexpr int kMaxArrayDepth = 4;
  static constexpr uint32_t kMaxAlignment = 1U << 20;
  /// The largest vocabularies with their merges and scores take a tenth of it.
  static constexpr uint64_t kMaxMemory = uint64_t{512} << 20;

  uint32_t version = 3;
  uint32_t alignment = 32;
  std::map<std::string, GgufValue> metadata;
  std::vector<GgufTensor> tensors;

  /// Reads and checks. Each malformed case has a one-line message with the key or tensor, without
  /// the file's name. Nothing is allocated that the rest of the file could not fill, and no more
  /// than kMaxMemory in all: a file with holes is as large as it likes to be.
  static Result<GgufHeader> parse(const ByteSource& source);

  /// Null when there is no such key.
  [[nodiscard]] const GgufValue* find(const std::string& key) const;
  /// The value under a key; NotFound names the key, InvalidArgument names its type.
  Result<int64_t> integer(const std::string& key) const;
  Result<double> number(const std::string& key) const;
  Result<std::string> string(const std::string& key) const;
  /// With a default for a missing key; a key of another type is still an error.
  Result<int64_t> integer_or(const std::string& key, int64_t otherwise) const;
  Result<double> number_or(const std::string& key, double otherwise) const;
  Result<std::string> string_or(const std::string& key, std::string otherwise) const;
  Result<bool> boolean_or(const std::string& key, bool otherwise) const;
  /// An array of strings, or of whole numbers, or of floats; NotFound when missing.
  Result<const GgufArray*> array(const std::string& key, GgufType element) const;
};

}  // namespace sluice
