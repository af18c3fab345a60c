#pragma once
#include "models/io/gguf.h"
#include "models/io/gguf_model.h"
#include "models/io/mapped_file.h"
#include "models/io/stored_scalar.h"

#include <memory>
#include <string>

namespace sluice {

/// A GGUF file. Any thread.
class GgufFile {
 public:
  /// Errors name the file.
  static Result<GgufFile> open(const std::string& path);

  [[nodiscard]] const GgufHeader& header() const noexcept { return header_; }
  [[nodiscard]] const MappedFile& file() const noexcept { return *file_; }

  /// The tensor under its Hugging Face name: unpacked, with what the format did to it undone. A
  /// plain tensor of the wanted type looks at the mapping (see MappedFile), unless `copy` says not
  /// to; others are copies.
  Result<at::Tensor> read(const GgufSource& source, at::ScalarType as, bool copy = false) const;
  /// A whole tensor as it lies in the file, in floats.
  Result<at::Tensor> read_raw(const GgufTensor& tensor) const;

 private:
  std::shared_ptr<MappedFile> file_;
  GgufHeader header_;
};

}  // namespace sluice
