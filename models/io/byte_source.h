#pragma once
#include "dataflow/base/result.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice {

/// Bytes that a parser reads by offset: a file, or memory. Parsers ask only for what they have
/// checked to exist, and never hold more than they asked for. Any thread.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  [[nodiscard]] virtual uint64_t size() const noexcept = 0;
  /// Copies bytes [offset, offset + count). OutOfRange past the end; DataLoss when they are no
  /// longer what they were when the source was opened.
  virtual Status read(uint64_t offset, void* out, size_t count) const = 0;
};

/// Bytes in memory, which must outlive it.
class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::string_view bytes) : bytes_(bytes) {}
  [[nodiscard]] uint64_t size() const noexcept override { return bytes_.size(); }
  Status read(uint64_t offset, void* out, size_t count) const override;

 private:
  std::string_view bytes_;
};

}  // namespace sluice
