#include "models/io/json_text.h"
#include "models/io/safetensors.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <unordered_set>

namespace sluice {
namespace {

using nlohmann::json;

/// Fills entries straight from the parser's events: a header of 100 MB never becomes a tree.
class HeaderHandler {
 public:
  explicit HeaderHandler(SafetensorsHeader& header) : header_(header) {}

  // NOLINTBEGIN(readability-identifier-naming): the names are nlohmann's.
  bool null() { return unexpected("null"); }
  bool boolean(bool) { return unexpected("a boolean"); }
  bool number_integer(json::number_integer_t) { return unexpected("a negative number"); }
  bool number_float(json::number_float_t, const std::string& text) {
    return unexpected("the number " + text);
  }
  bool binary(json::binary_t&) { return unexpected("a binary value"); }

  bool number_unsigned(json::number_unsigned_t value) {
    if (at_ == At::Shape) {
      if (value > static_cast<uint64_t>(INT64_MAX)) {
        return fail(fmt::format("dimension {} of tensor '{}' is too large", value, entry_.name));
      }
      if (entry_.shape.size() >= kMaxDimensions) {
        return fail(
            fmt::format("tensor '{}' has more than {} dimensions", entry_.name, kMaxDimensions));
      }
      entry_.shape.push_back(static_cast<int64_t>(value));
      return true;
    }
    if (at_ == At::Offsets && offsets_ < 2) {
      (offsets_++ == 0 ? begin_ : end_) = value;
      return true;
    }
    return unexpected("a number");
  }

  bool string(std::string& value) {
    if (at_ == At::Metadata) {
      if (!header_.metadata.emplace(key_, value).second) {
        return fail(fmt::format("duplicate key '{}' in __metadata__", key_));
      }
      return true;
    }
    if (at_ == At::Tensor && key_ == "dtype") {
      const auto type = safetensors_type(value);
      if (!type) return fail(fmt::format("tensor '{}' has unknown dtype '{}'", entry_.name, value));
      entry_.type = *type;
      return true;
    }
    return unexpected("a string");
  }

  bool start_object(size_t) {
    if (at_ == At::Outside) {
      at_ = At::Top;
      return true;
    }
    if (at_ != At::Top) return unexpected("an object");
    if (key_ == "__metadata__") {
      at_ = At::Metadata;
      return true;
    }
    at_ = At::Tensor;
    entry_ = {};
    entry_.name = key_;
    offsets_ = 0;
    has_dtype_ = has_shape_ = has_offsets_ = false;
    return true;
  }

  bool key(std::string& name) {
    key_ = name;
    if (at_ == At::Top) {
      if (!names_.insert(name).second) return fail(fmt::format("duplicate key '{}'", name));
      return true;
    }
    if (at_ != At::Tensor) return true;
    bool* seen = name == "dtype"          ? &has_dtype_
                 : name == "shape"        ? &has_shape_
                 : name == "data_offsets" ? &has_offsets_
                                          : nullptr;
    if (seen == nullptr)
      return fail(fmt::format("tensor '{}' has unknown key '{}'", entry_.name, name));
    if (*seen) return fail(fmt::format("duplicate key '{}' in tensor '{}'", name, entry_.name));
    *seen = true;
    return true;
  }

  bool start_array(size_t) {
    if (at_ == At::Outside) return fail("header is not a JSON object");
    if (at_ == At::Tensor && key_ == "shape") {
      at_ = At::Shape;
    } else if (at_ == At::Tensor && key_ == "data_offsets") {
      at_ = At::Offsets;
    } else {
      return unexpected("an array");
    }
    return true;
  }

  bool end_array() {
    if (at_ == At::Offsets && offsets_ != 2) {
      return fail(fmt::format("data_offsets of tensor '{}' are not two numbers", entry_.name));
    }
    at_ = At::Tensor;
    return true;
  }

  bool end_object() {
    if (at_ == At::Tensor) {
      const char* missing = !has_dtype_ ? "dtype" : !has_shape_ ? "shape" : "data_offsets";
      if (!has_dtype_ || !has_shape_ || !has_offsets_) {
        return fail(fmt::format("tensor '{}' has no {}", entry_.name, missing));
      }
      if (end_ < begin_) {
        return fail(
            fmt::format("tensor '{}' ends at {}, before its begin {}", entry_.name, end_, begin_));
      }
      entry_.offset = begin_;
      entry_.bytes = end_ - begin_;
      header_.entries.push_back(std::move(entry_));
    }
    at_ = at_ == At::Top ? At::Outside : At::Top;
    return true;
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) {
    return fail(fmt::format("header is not JSON at byte {}", position));
  }
  // NOLINTEND(readability-identifier-naming)

  std::string problem;

 private:
  enum class At : uint8_t { Outside, Top, Metadata, Tensor, Shape, Offsets };
  static constexpr size_t kMaxDimensions = 64;

  bool fail(std::string what) {
    if (problem.empty()) problem = std::move(what);
    return false;
  }

  bool unexpected(const std::string& what) {
    switch (at_) {
      case At::Outside:
        return fail("header is not a JSON object");
      case At::Top:
        return fail(fmt::format("entry '{}' is {}, not an object", key_, what));
      case At::Metadata:
        return fail(fmt::format("'{}' in __metadata__ is {}, not a string", key_, what));
      case At::Tensor:
        return fail(fmt::format("{} of tensor '{}' is {}", key_, entry_.name, what));
      case At::Shape:
        return fail(fmt::format("shape of tensor '{}' holds {}", entry_.name, what));
      case At::Offsets:
        return fail(
            offsets_ >= 2
                ? fmt::format("data_offsets of tensor '{}' are not two numbers", entry_.name)
                : fmt::format("data_offsets of tensor '{}' hold {}", entry_.name, what));
    }
    return false;
  }

  SafetensorsHeader& header_;
  At at_ = At::Outside;
  std::string key_;
  SafetensorsEntry entry_;
  uint64_t begin_ = 0;
  uint64_t end_ = 0;
  int offsets_ = 0;
  bool has_dtype_ = false;
  bool has_shape_ = false;
  bool has_offsets_ = false;
  std::unordered_set<std::string> names_;
};

/// Bytes that the shape and type of an entry ask for.
Result<uint64_t> wanted_bytes(const SafetensorsEntry& entry) {
  uint64_t elements = 1;
  for (const int64_t size : entry.shape) {
    if (__builtin_mul_overflow(elements, static_cast<uint64_t>(size), &elements) ||
        elements > static_cast<uint64_t>(INT64_MAX)) {
      return invalid_argument("the number of elements of tensor '{}' overflows", entry.name);
    }
  }
  uint64_t bits = 0;
  if (__builtin_mul_overflow(elements, static_cast<uint64_t>(block_bits(entry.type)), &bits)) {
    return invalid_argument("the size of tensor '{}' overflows", entry.name);
  }
  if (bits % 8 != 0) {
    return invalid_argument("{} elements of tensor '{}' ({}) do not fill whole bytes", elements,
                            entry.name, name(entry.type));
  }
  return bits / 8;
}

/// Entries must follow each other and fill [0, data_bytes).
Status check_layout(const SafetensorsHeader& header, uint64_t data_bytes) {
  uint64_t end = 0;
  const SafetensorsEntry* before = nullptr;
  for (const auto& entry : header.entries) {
    if (entry.offset < end) {
      return invalid_argument("tensor '{}' begins at {}, inside tensor '{}' that ends at {}",
                              entry.name, entry.offset, before->name, end);
    }
    if (entry.offset > end) {
      return invalid_argument("there is a hole of {} bytes before tensor '{}'", entry.offset - end,
                              entry.name);
    }
    ASSIGN_OR_RETURN(const uint64_t wanted, wanted_bytes(entry));
    if (wanted != entry.bytes) {
      return invalid_argument("tensor '{}' has {} bytes, but its shape and dtype {} take {}",
                              entry.name, entry.bytes, name(entry.type), wanted);
    }
    end = entry.offset + entry.bytes;
    before = &entry;
  }
  if (end > data_bytes) {
    return invalid_argument("the file is cut: tensors take {} bytes, {} are there", end,
                            data_bytes);
  }
  if (end < data_bytes) {
    return invalid_argument("{} bytes follow the last tensor", data_bytes - end);
  }
  return {};
}

Result<SafetensorsHeader> parse_header(const ByteSource& source) {
  constexpr uint64_t kPrefix = 8;
  if (source.size() < kPrefix) {
    return invalid_argument(
        "{} bytes are too few: a safetensors file begins with 8 bytes of length", source.size());
  }
  uint64_t length = 0;
  RETURN_IF_ERROR(source.read(0, &length, sizeof(length)));
  constexpr uint64_t kMost = SafetensorsHeader::kMaxBytes;
  if (length > kMost) {
    return invalid_argument("header length {} is above the limit {}", length, kMost);
  }
  if (length > source.size() - kPrefix) {
    return invalid_argument("header of {} bytes does not fit into a file of {}", length,
                            source.size());
  }
  std::string text(length, '\0');
  RETURN_IF_ERROR(source.read(kPrefix, text.data(), text.size()));
  if (const size_t bad = find_invalid_utf8(text); bad != std::string_view::npos) {
    return invalid_argument("header is not UTF-8 at byte {}", bad);
  }
  SafetensorsHeader header;
  HeaderHandler handler(header);
  if (!json::sax_parse(text.begin(), text.end(), &handler)) {
    return invalid_argument("{}", handler.problem);
  }
  const uint64_t data = kPrefix + length;
  std::stable_sort(header.entries.begin(), header.entries.end(),
                   [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
                     return std::pair(a.offset, a.bytes) < std::pair(b.offset, b.bytes);
                   });
  RETURN_IF_ERROR(check_layout(header, source.size() - data));
  for (auto& entry : header.entries) entry.offset += data;
  return header;
}

}  // namespace

Result<SafetensorsHeader> SafetensorsHeader::parse(const ByteSource& source) {
  auto header = parse_header(source);
  if (!header.ok()) return one_line(header.status());
  return header;
}

}  // namespace sluice
