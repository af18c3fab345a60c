#include "models/io/safetensors.h"

#include <ATen/ATen.h>

#include <bit>

namespace sluice {

static_assert(std::endian::native == std::endian::little, "the file formats are little-endian");

Result<SafetensorsFile> SafetensorsFile::open(const std::string& path) {
  SafetensorsFile out;
  ASSIGN_OR_RETURN(out.file_, MappedFile::open(path));
  auto header = SafetensorsHeader::parse(*out.file_);
  if (!header.ok()) return header.status().with_context(path);
  out.header_ = *std::move(header);
  return out;
}

Result<at::Tensor> SafetensorsFile::read(const SafetensorsEntry& entry, at::ScalarType as,
                                         bool copy) const {
  const auto stored = scalar_type(entry.type);
  if (!stored) {
    return error(Code::Unimplemented, "{}: tensor '{}' is stored as {}, which has no tensor type",
                 file_->path(), entry.name, name(entry.type));
  }
  RETURN_IF_ERROR(file_->check_unchanged());
  if (entry.bytes == 0) return at::empty(entry.shape, as);
  const bool aligned = entry.offset % c10::elementSize(*stored) == 0;
  if (aligned && *stored == as && !copy) {
    return at::from_blob(
        file_->data() + entry.offset, entry.shape, [owner = file_](void*) {}, at::dtype(as));
  }
  at::Tensor own = at::empty(entry.shape, at::dtype(*stored));
  RETURN_IF_ERROR(file_->read(entry.offset, own.data_ptr(), entry.bytes));
  return *stored == as ? own : own.to(as);
}

}  // namespace sluice
