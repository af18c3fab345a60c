#pragma once
#include "dataflow/base/result.h"

#include <string>
#include <string_view>

namespace sluice {

/// The failure that `error` (an errno) stands for, told as "<what>: <errno's text>".
/// ResourceExhausted when space or quota ran out, NotFound, FailedPrecondition when it is not
/// permitted, otherwise Internal.
Status errno_status(int error, std::string_view what);

/// Whole file as bytes. NotFound when there is none.
Result<std::string> read_file(const std::string& path);

/// Writes a file so that a crash at any moment leaves either the old content or the new: temporary
/// file in the same folder, fsync, rename, fsync of the folder. ResourceExhausted when the disk is
/// full; the temporary file is removed after a failure.
Status write_file_atomic(const std::string& path, std::string_view bytes);

/// Writes a file; sync_file() waits until it is on the disk. Not atomic: for files in a folder that
/// is renamed as a whole. Of many files, write all before the first is synced.
Status write_file(const std::string& path, std::string_view bytes);
Status sync_file(const std::string& path);
/// Both.
Status write_file_synced(const std::string& path, std::string_view bytes);

/// Makes renames and new names inside a folder last.
Status sync_folder(const std::string& path);

}  // namespace sluice
