#include "models/io/gguf_writer.h"

#include "models/io/atomic_file.h"

#include <ATen/ATen.h>

#include <cmath>
#include <cstring>

namespace sluice {
namespace {

constexpr uint64_t kAlignment = 32;

uint64_t padded(uint64_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

/// Collects the part of the file before the tensors' data.
class Buffer {
 public:
  template <class T>
  void put(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void put_text(const std::string& text) {
    put<uint64_t>(text.size());
    bytes_ += text;
  }
  void put_number(GgufType type, int64_t value) {
    switch (type) {
      case GgufType::U8:
      case GgufType::I8:
      case GgufType::Bool:
        return put(static_cast<uint8_t>(value));
      case GgufType::U16:
      case GgufType::I16:
        return put(static_cast<uint16_t>(value));
      case GgufType::U32:
      case GgufType::I32:
        return put(static_cast<uint32_t>(value));
      default:
        return put(value);
    }
  }
  void put_float(GgufType type, double value) {
    if (type == GgufType::F32) {
      put(static_cast<float>(value));
    } else {
      put(value);
    }
  }
  void put_array(const GgufArray& array) {
    put(static_cast<uint32_t>(array.element));
    put<uint64_t>(array.size());
    for (const int64_t value : array.ints) put_number(array.element, value);
    for (const double value : array.floats) put_float(array.element, value);
    for (const auto& text : array.strings) put_text(text);
    for (const auto& part : array.arrays) put_array(part);
  }
  void put_value(const GgufValue& value) {
    put(static_cast<uint32_t>(value.type));
    if (const auto* number = std::get_if<int64_t>(&value.value)) put_number(value.type, *number);
    if (const auto* number = std::get_if<double>(&value.value)) put_float(value.type, *number);
    if (const auto* text = std::get_if<std::string>(&value.value)) put_text(*text);
    if (const auto* array = std::get_if<GgufArray>(&value.value)) put_array(*array);
  }
  [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }

 private:
  std::string bytes_;
};

Result<uint64_t> size_of(const GgufTensorToWrite& tensor) {
  if (tensor.type != StoredType::F32 && tensor.type != StoredType::F16 &&
      tensor.type != StoredType::BF16 && tensor.type != StoredType::Q8_0) {
    return error(Code::Unimplemented,
                 "tensor '{}' cannot be written as {}; F32, F16, BF16 and Q8_0 can", tensor.name,
                 name(tensor.type));
  }
  uint64_t elements = 1;
  for (const int64_t size : tensor.shape) elements *= static_cast<uint64_t>(size);
  const int64_t row = tensor.shape.empty() ? 1 : tensor.shape.back();
  if (row % block_elements(tensor.type) != 0) {
    return invalid_argument("tensor '{}' has rows of {} elements, no multiple of the {} of {}",
                            tensor.name, row, block_elements(tensor.type), name(tensor.type));
  }
  return *stored_bytes(tensor.type, elements);
}

Status write_data(AtomicFile& file, const GgufTensorToWrite& wanted, const at::Tensor& tensor) {
  if (tensor.sizes() != at::IntArrayRef(wanted.shape)) {
    return invalid_argument("tensor '{}' is [{}], not [{}] as announced", wanted.name,
                            fmt::join(tensor.sizes(), ", "), fmt::join(wanted.shape, ", "));
  }
  const at::Tensor floats = tensor.detach().to(at::kCPU).contiguous();
  const auto write = [&](const at::Tensor& plain) {
    return file.write({static_cast<const char*>(plain.const_data_ptr()), plain.nbytes()});
  };
  switch (wanted.type) {
    case StoredType::F32:
      return write(floats.to(at::kFloat));
    case StoredType::F16:
      return write(floats.to(at::kHalf));
    case StoredType::BF16:
      return write(floats.to(at::kBFloat16));
    default:
      break;
  }
  const at::Tensor source = floats.to(at::kFloat);
  const int64_t blocks = source.numel() / block_elements(StoredType::Q8_0);
  std::string packed(static_cast<size_t>(blocks) * 34, '\0');
  quantize_q8_0(source.data_ptr<float>(), blocks, reinterpret_cast<uint8_t*>(packed.data()));
  return file.write(packed);
}

}  // namespace

void quantize_q8_0(const float* in, int64_t blocks, uint8_t* out) {
  for (int64_t b = 0; b < blocks; ++b, in += 32, out += 34) {
    float largest = 0;
    for (int j = 0; j < 32; ++j) largest = std::max(largest, std::abs(in[j]));
    const float d = largest / 127;
    const float inverse = d != 0 ? 1 / d : 0;
    const c10::Half half = d;
    std::memcpy(out, &half.x, 2);
    for (int j = 0; j < 32; ++j) {
      // Not where `inverse` is infinite because d is all but 0, nor for what is not finite.
      const float nearest = std::round(in[j] * inverse);
      const bool fits = nearest >= -127 && nearest <= 127;
      out[2 + j] = static_cast<uint8_t>(static_cast<int8_t>(fits ? nearest : 0));
    }
  }
}

Status write_gguf(const std::string& path, const GgufMetadata& metadata,
                  const std::vector<GgufTensorToWrite>& tensors, const TensorProducer& producer) {
  Buffer head;
  head.put<uint32_t>(0x46554747);  // "GGUF"
  head.put<uint32_t>(3);
  head.put<uint64_t>(tensors.size());
  head.put<uint64_t>(metadata.size());
  for (const auto& [key, value] : metadata) {
    head.put_text(key);
    head.put_value(value);
  }
  uint64_t offset = 0;
  for (const auto& tensor : tensors) {
    if (tensor.shape.size() > GgufHeader::kMaxDimensions) {
      return invalid_argument("tensor '{}' has {} dimensions, more than {}", tensor.name,
                              tensor.shape.size(), GgufHeader::kMaxDimensions);
    }
    head.put_text(tensor.name);
    head.put(static_cast<uint32_t>(tensor.shape.size()));
    for (auto size = tensor.shape.rbegin(); size != tensor.shape.rend(); ++size) {
      head.put(static_cast<uint64_t>(*size));
    }
    head.put(gguf_type_number(tensor.type));
    head.put(offset);
    ASSIGN_OR_RETURN(const uint64_t bytes, size_of(tensor));
    offset = padded(offset + bytes);
  }
  const std::string zeros(kAlignment, '\0');
  ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path, /*fresh=*/true));
  RETURN_IF_ERROR(file.write(head.bytes()));
  const auto pad = [&] {
    return file.write(std::string_view(zeros).substr(0, padded(file.size()) - file.size()));
  };
  RETURN_IF_ERROR(pad());
  for (size_t i = 0; i < tensors.size(); ++i) {
    ASSIGN_OR_RETURN(const at::Tensor tensor, producer(i));
    RETURN_IF_ERROR(write_data(file, tensors[i], tensor));
    RETURN_IF_ERROR(pad());
  }
  return file.commit();
}

}  // namespace sluice
