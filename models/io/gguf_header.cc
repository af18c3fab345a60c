#include "models/io/gguf.h"
#include "models/io/json_text.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_set>

namespace sluice {
namespace {

constexpr std::array<std::string_view, 13> kTypeNames = {
    "u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "string", "array", "u64", "i64", "f64"};
// The least a value of each type takes in a file.
constexpr std::array<uint32_t, 13> kTypeBytes = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};

/// Reads forward through a source in blocks; knows how much is left.
class Cursor {
 public:
  explicit Cursor(const ByteSource& source) : source_(source) {}

  [[nodiscard]] uint64_t at() const noexcept { return at_; }
  [[nodiscard]] uint64_t left() const noexcept { return source_.size() - at_; }

  /// Counts `count` things that take `each` bytes in memory, before they are made.
  Status charge(uint64_t count, uint64_t each, const std::string& what) {
    if (count > room_ / each) {
      return error(Code::ResourceExhausted,
                   "{} does not fit: a header may take {} MiB of memory, {} bytes are left for {} "
                   "times {}",
                   what, GgufHeader::kMaxMemory >> 20, room_, count, each);
    }
    room_ -= count * each;
    return {};
  }

  Status copy(void* out, size_t count, const std::string& what) {
    if (count > left()) {
      return invalid_argument("the file ends inside {}", what);
    }
    auto* to = static_cast<char*>(out);
    while (count > 0) {
      if (at_ < block_at_ || at_ >= block_at_ + block_.size()) RETURN_IF_ERROR(fill());
      const auto from = static_cast<size_t>(at_ - block_at_);
      const size_t n = std::min(count, block_.size() - from);
      std::memcpy(to, block_.data() + from, n);
      to += n;
      at_ += n;
      count -= n;
    }
    return {};
  }

  template <class T>
  Result<T> take(const std::string& what) {
    T value{};
    RETURN_IF_ERROR(copy(&value, sizeof(value), what));
    return value;
  }

  Result<std::string> text(const std::string& what, uint64_t limit) {
    ASSIGN_OR_RETURN(const auto length, take<uint64_t>(what));
    if (length > left()) {
      return invalid_argument("{} has a length of {}, but {} bytes are left", what, length, left());
    }
    if (length > limit) {
      return invalid_argument("{} has a length of {}, above the limit {}", what, length, limit);
    }
    RETURN_IF_ERROR(charge(length, 1, what));
    std::string out(length, '\0');
    RETURN_IF_ERROR(copy(out.data(), out.size(), what));
    return out;
  }

 private:
  Status fill() {
    constexpr uint64_t kBlock = 1 << 16;
    block_.resize(std::min(kBlock, left()));
    block_at_ = at_;
    return source_.read(at_, block_.data(), block_.size());
  }

  const ByteSource& source_;
  uint64_t room_ = GgufHeader::kMaxMemory;
  uint64_t at_ = 0;
  uint64_t block_at_ = 0;
  std::string block_;
};

constexpr uint64_t kMaxString = uint64_t{64} << 20;

Result<GgufType> known_type(uint32_t raw, const std::string& what) {
  if (raw >= kTypeNames.size()) return invalid_argument("{} has unknown value type {}", what, raw);
  return static_cast<GgufType>(raw);
}

template <class T>
Status append(Cursor& in, uint64_t count, const std::string& what, std::vector<int64_t>& out) {
  for (uint64_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(const T value, in.take<T>(what));
    out.push_back(static_cast<int64_t>(value));
  }
  return {};
}

template <class T>
Status append(Cursor& in, uint64_t count, const std::string& what, std::vector<double>& out) {
  for (uint64_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(const T value, in.take<T>(what));
    out.push_back(static_cast<double>(value));
  }
  return {};
}

/// What an element of an array takes in memory, without what it points to.
uint64_t held_bytes(GgufType element) {
  if (element == GgufType::String) return sizeof(std::string);
  return element == GgufType::Array ? sizeof(GgufArray) : sizeof(int64_t);
}

Result<GgufArray> take_array(Cursor& in, const std::string& what, int depth) {
  if (depth > GgufHeader::kMaxArrayDepth) {
    return invalid_argument("{} nests arrays deeper than {}", what, GgufHeader::kMaxArrayDepth);
  }
  GgufArray out;
  ASSIGN_OR_RETURN(const auto raw, in.take<uint32_t>(what));
  ASSIGN_OR_RETURN(out.element, known_type(raw, what));
  ASSIGN_OR_RETURN(const auto count, in.take<uint64_t>(what));
  if (count > in.left() / kTypeBytes[raw]) {
    return invalid_argument("{} has {} elements of {}, but {} bytes are left", what, count,
                            name(out.element), in.left());
  }
  RETURN_IF_ERROR(in.charge(count, held_bytes(out.element), what));
  switch (out.element) {
    case GgufType::U8:
      RETURN_IF_ERROR(append<uint8_t>(in, count, what, out.ints));
      break;
    case GgufType::I8:
      RETURN_IF_ERROR(append<int8_t>(in, count, what, out.ints));
      break;
    case GgufType::U16:
      RETURN_IF_ERROR(append<uint16_t>(in, count, what, out.ints));
      break;
    case GgufType::I16:
      RETURN_IF_ERROR(append<int16_t>(in, count, what, out.ints));
      break;
    case GgufType::U32:
      RETURN_IF_ERROR(append<uint32_t>(in, count, what, out.ints));
      break;
    case GgufType::I32:
      RETURN_IF_ERROR(append<int32_t>(in, count, what, out.ints));
      break;
    case GgufType::Bool:
      RETURN_IF_ERROR(append<uint8_t>(in, count, what, out.ints));
      break;
    case GgufType::U64:
    case GgufType::I64:
      RETURN_IF_ERROR(append<int64_t>(in, count, what, out.ints));
      break;
    case GgufType::F32:
      RETURN_IF_ERROR(append<float>(in, count, what, out.floats));
      break;
    case GgufType::F64:
      RETURN_IF_ERROR(append<double>(in, count, what, out.floats));
      break;
    case GgufType::String:
      for (uint64_t i = 0; i < count; ++i) {
        ASSIGN_OR_RETURN(std::string text, in.text(what, kMaxString));
        out.strings.push_back(std::move(text));
      }
      break;
    case GgufType::Array:
      for (uint64_t i = 0; i < count; ++i) {
        ASSIGN_OR_RETURN(GgufArray part, take_array(in, what, depth + 1));
        out.arrays.push_back(std::move(part));
      }
      break;
  }
  return out;
}

template <class T>
Status set_integer(Cursor& in, const std::string& what, GgufValue& out) {
  ASSIGN_OR_RETURN(const T value, in.take<T>(what));
  out.value = static_cast<int64_t>(value);
  return {};
}

Result<GgufValue> take_value(Cursor& in, const std::string& what) {
  GgufValue out;
  ASSIGN_OR_RETURN(const auto raw, in.take<uint32_t>(what));
  ASSIGN_OR_RETURN(out.type, known_type(raw, what));
  switch (out.type) {
    case GgufType::U8:
      RETURN_IF_ERROR(set_integer<uint8_t>(in, what, out));
      break;
    case GgufType::Bool: {
      ASSIGN_OR_RETURN(const auto value, in.take<uint8_t>(what));
      if (value > 1) return invalid_argument("{} is a bool of value {}", what, value);
      out.value = static_cast<int64_t>(value);
      break;
    }
    case GgufType::I8:
      RETURN_IF_ERROR(set_integer<int8_t>(in, what, out));
      break;
    case GgufType::U16:
      RETURN_IF_ERROR(set_integer<uint16_t>(in, what, out));
      break;
    case GgufType::I16:
      RETURN_IF_ERROR(set_integer<int16_t>(in, what, out));
      break;
    case GgufType::U32:
      RETURN_IF_ERROR(set_integer<uint32_t>(in, what, out));
      break;
    case GgufType::I32:
      RETURN_IF_ERROR(set_integer<int32_t>(in, what, out));
      break;
    case GgufType::U64:
    case GgufType::I64:
      RETURN_IF_ERROR(set_integer<int64_t>(in, what, out));
      break;
    case GgufType::F32: {
      ASSIGN_OR_RETURN(const auto value, in.take<float>(what));
      out.value = static_cast<double>(value);
      break;
    }
    case GgufType::F64: {
      ASSIGN_OR_RETURN(const auto value, in.take<double>(what));
      out.value = value;
      break;
    }
    case GgufType::String: {
      ASSIGN_OR_RETURN(std::string text, in.text(what, kMaxString));
      out.value = std::move(text);
      break;
    }
    case GgufType::Array: {
      ASSIGN_OR_RETURN(GgufArray array, take_array(in, what, 1));
      out.value = std::move(array);
      break;
    }
  }
  return out;
}

struct TensorTypeRow {
  uint32_t number;
  StoredType type;
};
constexpr TensorTypeRow kTensorTypes[] = {
    {0, StoredType::F32},  {1, StoredType::F16},  {2, StoredType::Q4_0}, {3, StoredType::Q4_1},
    {6, StoredType::Q5_0}, {7, StoredType::Q5_1}, {8, StoredType::Q8_0}, {12, StoredType::Q4K},
    {13, StoredType::Q5K}, {14, StoredType::Q6K}, {24, StoredType::I8},  {25, StoredType::I16},
    {26, StoredType::I32}, {27, StoredType::I64}, {28, StoredType::F64}, {30, StoredType::BF16},
};

Result<GgufTensor> take_tensor(Cursor& in, uint64_t index) {
  GgufTensor out;
  ASSIGN_OR_RETURN(out.name,
                   in.text(fmt::format("the name of tensor {}", index), GgufHeader::kMaxNameBytes));
  if (find_invalid_utf8(out.name) != std::string_view::npos) {
    return invalid_argument("the name of tensor {} is not UTF-8", index);
  }
  const std::string what = fmt::format("tensor '{}'", out.name);
  ASSIGN_OR_RETURN(const auto dimensions, in.take<uint32_t>(what));
  if (dimensions > GgufHeader::kMaxDimensions) {
    return invalid_argument("{} has {} dimensions, more than {}", what, dimensions,
                            GgufHeader::kMaxDimensions);
  }
  uint64_t elements = 1;
  for (uint32_t d = 0; d < dimensions; ++d) {
    ASSIGN_OR_RETURN(const auto size, in.take<uint64_t>(what));
    if (__builtin_mul_overflow(elements, size, &elements) || size > INT64_MAX ||
        elements > INT64_MAX) {
      return invalid_argument("the number of elements of {} overflows", what);
    }
    out.shape.push_back(static_cast<int64_t>(size));
  }
  ASSIGN_OR_RETURN(const auto raw, in.take<uint32_t>(what));
  const auto* known = std::find_if(std::begin(kTensorTypes), std::end(kTensorTypes),
                                   [&](const TensorTypeRow& row) { return row.number == raw; });
  if (known == std::end(kTensorTypes)) {
    return error(Code::Unimplemented,
                 "{} has tensor type {}; known are F32, F16, BF16, F64, I8 to I64, Q4_0, Q4_1, "
                 "Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K",
                 what, raw);
  }
  out.type = known->type;
  ASSIGN_OR_RETURN(out.offset, in.take<uint64_t>(what));
  const int64_t row = out.shape.empty() ? 1 : out.shape[0];
  if (row % block_elements(out.type) != 0) {
    return invalid_argument("{} has rows of {} elements, no multiple of the {} of a {} block", what,
                            row, block_elements(out.type), name(out.type));
  }
  const auto bytes = stored_bytes(out.type, elements);
  if (!bytes) return invalid_argument("the size of {} overflows", what);
  out.bytes = *bytes;
  std::reverse(out.shape.begin(), out.shape.end());
  return out;
}

Status check_alignment(GgufHeader& header) {
  const GgufValue* value = header.find("general.alignment");
  if (value == nullptr) return {};
  if (value->type != GgufType::U32) {
    return invalid_argument("general.alignment is {}, not u32", name(value->type));
  }
  const int64_t alignment = std::get<int64_t>(value->value);
  if (alignment < 8 || alignment > GgufHeader::kMaxAlignment ||
      (alignment & (alignment - 1)) != 0) {
    return invalid_argument("general.alignment {} is no power of two from 8 to {}", alignment,
                            GgufHeader::kMaxAlignment);
  }
  header.alignment = static_cast<uint32_t>(alignment);
  return {};
}

/// Turns offsets into places in the file, and checks that no tensor leaves it or shares bytes.
Status place_tensors(GgufHeader& header, uint64_t end_of_header, uint64_t file_bytes) {
  const uint64_t align = header.alignment;
  const uint64_t data = (end_of_header + align - 1) / align * align;
  std::vector<const GgufTensor*> order;
  for (auto& tensor : header.tensors) {
    if (tensor.offset % align != 0) {
      return invalid_argument("tensor '{}' begins at {}, no multiple of the alignment {}",
                              tensor.name, tensor.offset, align);
    }
    const uint64_t room = file_bytes > data ? file_bytes - data : 0;
    if (tensor.offset > room || tensor.bytes > room - tensor.offset) {
      return invalid_argument("tensor '{}' takes {} bytes at {}, but the data has {}", tensor.name,
                              tensor.bytes, tensor.offset, room);
    }
    tensor.offset += data;
    if (tensor.bytes > 0) order.push_back(&tensor);
  }
  std::sort(order.begin(), order.end(),
            [](const GgufTensor* a, const GgufTensor* b) { return a->offset < b->offset; });
  for (size_t i = 1; i < order.size(); ++i) {
    if (order[i]->offset < order[i - 1]->offset + order[i - 1]->bytes) {
      return invalid_argument("tensors '{}' and '{}' overlap", order[i - 1]->name, order[i]->name);
    }
  }
  return {};
}

}  // namespace

std::string_view name(GgufType type) noexcept {
  const auto i = static_cast<size_t>(type);
  return i < kTypeNames.size() ? kTypeNames[i] : "unknown";
}

uint32_t gguf_type_number(StoredType type) {
  const auto* row = std::find_if(std::begin(kTensorTypes), std::end(kTensorTypes),
                                 [&](const TensorTypeRow& r) { return r.type == type; });
  SLUICE_CHECK(row != std::end(kTensorTypes)) << name(type);
  return row->number;
}

namespace {

Result<GgufHeader> parse_gguf_header(const ByteSource& source) {
  Cursor in(source);
  char magic[4];
  RETURN_IF_ERROR(in.copy(magic, sizeof(magic), "the magic"));
  if (std::memcmp(magic, "GGUF", 4) != 0) {
    return invalid_argument("not a GGUF file: it does not begin with 'GGUF'");
  }
  GgufHeader out;
  ASSIGN_OR_RETURN(out.version, in.take<uint32_t>("the version"));
  if (out.version == 2U << 24 || out.version == 3U << 24) {
    return error(Code::Unimplemented, "the file is big-endian; little-endian ones are read");
  }
  if (out.version != 2 && out.version != 3) {
    return error(Code::Unimplemented, "GGUF version {}; 2 and 3 are known", out.version);
  }
  ASSIGN_OR_RETURN(const auto tensors, in.take<uint64_t>("the number of tensors"));
  ASSIGN_OR_RETURN(const auto values, in.take<uint64_t>("the number of metadata values"));
  constexpr uint64_t kLeastTensor = 8 + 4 + 4 + 8;
  constexpr uint64_t kLeastValue = 8 + 4 + 1;
  if (values > in.left() / kLeastValue || tensors > in.left() / kLeastTensor) {
    return invalid_argument("{} metadata values and {} tensors do not fit into {} bytes", values,
                            tensors, source.size());
  }
  RETURN_IF_ERROR(in.charge(values, sizeof(GgufValue), "the list of metadata"));
  RETURN_IF_ERROR(in.charge(tensors, sizeof(GgufTensor), "the list of tensors"));
  for (uint64_t i = 0; i < values; ++i) {
    ASSIGN_OR_RETURN(std::string key, in.text(fmt::format("metadata key {}", i), 65535));
    if (find_invalid_utf8(key) != std::string_view::npos) {
      return invalid_argument("metadata key {} is not UTF-8", i);
    }
    const std::string what = fmt::format("metadata '{}'", key);
    ASSIGN_OR_RETURN(GgufValue value, take_value(in, what));
    if (!out.metadata.emplace(std::move(key), std::move(value)).second) {
      return invalid_argument("duplicate {}", what);
    }
  }
  RETURN_IF_ERROR(check_alignment(out));
  std::unordered_set<std::string> names;
  for (uint64_t i = 0; i < tensors; ++i) {
    ASSIGN_OR_RETURN(GgufTensor tensor, take_tensor(in, i));
    if (!names.insert(tensor.name).second) {
      return invalid_argument("duplicate tensor '{}'", tensor.name);
    }
    out.tensors.push_back(std::move(tensor));
  }
  RETURN_IF_ERROR(place_tensors(out, in.at(), source.size()));
  return out;
}

}  // namespace

Result<GgufHeader> GgufHeader::parse(const ByteSource& source) {
  auto header = parse_gguf_header(source);
  if (!header.ok()) return one_line(header.status());
  return header;
}

}  // namespace sluice
