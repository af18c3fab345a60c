#include "models/io/gguf_file.h"

#include "models/io/dequantize.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>

namespace sluice {
namespace {

/// Where row `row` of a permuted matrix belongs: interleaved pairs become halves.
int64_t unpermuted(int64_t row, int64_t head_dim) {
  const int64_t head = row / head_dim;
  const int64_t in_head = row % head_dim;
  return head * head_dim + (in_head % 2) * (head_dim / 2) + in_head / 2;
}

}  // namespace

Result<GgufFile> GgufFile::open(const std::string& path) {
  GgufFile out;
  ASSIGN_OR_RETURN(out.file_, MappedFile::open(path));
  auto header = GgufHeader::parse(*out.file_);
  if (!header.ok()) return header.status().with_context(path);
  out.header_ = *std::move(header);
  return out;
}

Result<at::Tensor> GgufFile::read_raw(const GgufTensor& tensor) const {
  GgufSource whole;
  whole.name = tensor.name;
  whole.shape = tensor.shape;
  whole.tensor = static_cast<size_t>(&tensor - header_.tensors.data());
  return read(whole, at::kFloat);
}

Result<at::Tensor> GgufFile::read(const GgufSource& source, at::ScalarType as, bool copy) const {
  const GgufTensor& tensor = header_.tensors.at(source.tensor);
  std::vector<int64_t> shape = source.shape;
  if (source.transform == GgufTransform::Transpose) std::swap(shape[0], shape[1]);
  int64_t elements = 1;
  for (const int64_t size : shape) elements *= size;
  if (elements == 0) return at::empty(source.shape, as);
  const int64_t columns = shape.empty() ? 1 : shape.back();
  const auto bytes = stored_bytes(tensor.type, static_cast<uint64_t>(elements));
  const auto row_bytes = stored_bytes(tensor.type, static_cast<uint64_t>(columns));
  SLUICE_CHECK(bytes && row_bytes) << tensor.name;
  const uint64_t begin =
      tensor.offset + (source.slice < 0 ? 0 : static_cast<uint64_t>(source.slice) * *bytes);
  const auto plain = scalar_type(tensor.type);
  RETURN_IF_ERROR(file_->check_unchanged());
  if (plain == as && !copy && source.transform == GgufTransform::None &&
      begin % c10::elementSize(as) == 0) {
    return at::from_blob(
        file_->data() + begin, shape, [owner = file_](void*) {}, at::dtype(as));
  }

  // Vectors are permuted element by element: they are matrices of one column.
  const bool permute = source.transform == GgufTransform::UnpermuteHeads;
  const bool vector = shape.size() < 2;
  if (permute && vector && !plain) {
    return error(Code::Unimplemented, "{}: vector '{}' is stored in blocks of {}", file_->path(),
                 tensor.name, name(tensor.type));
  }
  const int64_t width = vector && permute ? 1 : columns;
  const int64_t rows = elements / width;
  const uint64_t width_bytes = vector && permute ? *row_bytes / columns : *row_bytes;
  const int64_t head_dim = permute ? rows / source.heads : 0;

  at::Tensor out = at::empty(shape, plain ? *plain : as);
  const Dequantize unpack = plain ? nullptr : dequantize_kernel(tensor.type, active_isa());
  const bool convert = unpack != nullptr && as != at::kFloat;
  const size_t width_out = static_cast<size_t>(width) * c10::elementSize(out.scalar_type());
  auto* to = static_cast<uint8_t*>(out.data_ptr());
  // Blocks of rows that stay in the second-level cache, read through the descriptor.
  constexpr int64_t kBlockFloats = 64 * 1024;
  const int64_t step = std::min(rows, std::max<int64_t>(1, kBlockFloats / width));
  std::vector<uint8_t> packed(width_bytes * static_cast<uint64_t>(step));
  std::vector<float> floats(convert || permute ? static_cast<size_t>(width * step) : 0);
  at::Tensor converted;
  for (int64_t row = 0; row < rows; row += step) {
    const int64_t count = std::min(step, rows - row);
    uint8_t* place = to + static_cast<size_t>(row) * width_out;
    const uint8_t* block = packed.data();
    RETURN_IF_ERROR(file_->read(begin + static_cast<uint64_t>(row) * width_bytes, packed.data(),
                                static_cast<size_t>(count) * width_bytes));
    if (unpack != nullptr) {
      float* unpacked = floats.empty() ? reinterpret_cast<float*>(place) : floats.data();
      unpack(packed.data(), count * width / block_elements(tensor.type), unpacked);
      if (floats.empty()) continue;
      block = reinterpret_cast<const uint8_t*>(floats.data());
      if (convert) {
        converted = at::from_blob(floats.data(), {count, width}, at::kFloat).to(as);
        block = static_cast<const uint8_t*>(converted.const_data_ptr());
      }
    }
    if (!permute) {
      std::memcpy(place, block, static_cast<size_t>(count) * width_out);
      continue;
    }
    for (int64_t r = 0; r < count; ++r) {
      std::memcpy(to + static_cast<size_t>(unpermuted(row + r, head_dim)) * width_out,
                  block + static_cast<size_t>(r) * width_out, width_out);
    }
  }
  if (source.transform == GgufTransform::MinusOne) out = out.to(at::kFloat) - 1;
  if (source.transform == GgufTransform::Transpose) out = out.t().contiguous();
  return out.to(as);
}

}  // namespace sluice
