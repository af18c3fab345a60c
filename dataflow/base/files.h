#pragma once
#include "dataflow/base/result.h"

#include <string>
#include <string_view>

namespace sluice {

/// Whole file as bytes. NotFound, or Internal with errno's text.
Result<std::string> read_file(const std::string& path);

/// Writes a file so that a crash at any moment leaves either the old content or the new: temporary
/// file in the same folder, fsync, rename, fsync of the folder. ResourceExhausted when the disk is
/// full; the temporary file is removed after a failure.
Status write_file_atomic(const std::string& path, std::string_view bytes);

}  // namespace sluice
