#include "apps/observe/tensorboard.h"

#include "dataflow/base/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>

namespace sluice {
namespace {

constexpr std::array<uint32_t, 256> make_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78U : 0);
    table[i] = crc;
  }
  return table;
}
constexpr std::array<uint32_t, 256> kTable = make_table();

// A checksum over data that holds checksums is weak, so the format stores it rotated and shifted.
uint32_t masked_crc(std::string_view bytes) { return std::rotr(crc32c(bytes), 15) + 0xa282ead8U; }

template <class T>
void put_little(std::string& out, T value) {
  for (size_t i = 0; i < sizeof value; ++i) out += static_cast<char>((value >> (8 * i)) & 0xff);
}

// The wire format of Protobuf, for the few fields of Event and Summary that are needed.
enum class Wire : uint8_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

void put_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7f) | 0x80);
  out += static_cast<char>(value);
}

void put_key(std::string& out, uint32_t field, Wire wire) {
  put_varint(out, (field << 3) | static_cast<uint32_t>(wire));
}

void put_bytes(std::string& out, uint32_t field, std::string_view bytes) {
  put_key(out, field, Wire::Bytes);
  put_varint(out, bytes.size());
  out += bytes;
}

std::string event_at(double wall_time) {
  std::string out;
  put_key(out, 1, Wire::Fixed64);  // Event.wall_time
  put_little(out, std::bit_cast<uint64_t>(wall_time));
  return out;
}

}  // namespace

uint32_t crc32c(std::string_view bytes) noexcept {
  uint32_t crc = ~0U;
  for (const char c : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<uint8_t>(c)) & 0xff];
  return ~crc;
}

std::string tf_record(std::string_view data) {
  std::string out;
  put_little(out, static_cast<uint64_t>(data.size()));
  put_little(out, masked_crc(out));
  out += data;
  put_little(out, masked_crc(data));
  return out;
}

std::string version_event(double wall_time) {
  std::string out = event_at(wall_time);
  put_bytes(out, 3, "brain.Event:2");  // Event.file_version
  return out;
}

std::string scalar_event(double wall_time, int64_t step,
                         const std::vector<std::pair<std::string, double>>& values) {
  std::string summary;
  for (const auto& [tag, value] : values) {
    std::string entry;
    put_bytes(entry, 1, tag);  // Summary.Value.tag
    put_key(entry, 2, Wire::Fixed32);
    put_little(entry, std::bit_cast<uint32_t>(static_cast<float>(value)));  // .simple_value
    put_bytes(summary, 1, entry);                                           // Summary.value
  }
  std::string out = event_at(wall_time);
  put_key(out, 2, Wire::Varint);  // Event.step
  put_varint(out, static_cast<uint64_t>(step));
  put_bytes(out, 5, summary);  // Event.summary
  return out;
}

Result<TensorboardWriter> TensorboardWriter::open(const std::string& folder, double wall_time,
                                                  const std::string& host) {
  const std::string name = fmt::format("{}/events.out.tfevents.{:010}.{}", folder,
                                       static_cast<int64_t>(wall_time), host);
  std::string path = name;
  int fd = -1;
  for (int n = 2;; ++n) {
    fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
    if (fd >= 0 || errno != EEXIST) break;
    path = fmt::format("{}.{}", name, n);
  }
  if (fd < 0) return errno_status(errno, fmt::format("cannot write '{}'", path));
  TensorboardWriter out(path, fd);
  RETURN_IF_ERROR(out.write(version_event(wall_time)));
  return out;
}

Status TensorboardWriter::append(double wall_time, int64_t step,
                                 const std::vector<std::pair<std::string, double>>& values) {
  return write(scalar_event(wall_time, step, values));
}

Status TensorboardWriter::write(std::string_view event) {
  const std::string record = tf_record(event);
  size_t written = 0;
  while (written < record.size()) {
    const ssize_t n = ::write(fd_, record.data() + written, record.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const Status status = errno_status(errno, fmt::format("cannot write '{}'", path_));
      return ::ftruncate(fd_, size_) == 0 ? status : status.with_context("events are damaged");
    }
    written += static_cast<size_t>(n);
  }
  size_ += static_cast<int64_t>(record.size());
  return {};
}

TensorboardWriter::TensorboardWriter(TensorboardWriter&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), size_(other.size_) {}

TensorboardWriter& TensorboardWriter::operator=(TensorboardWriter&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(size_, other.size_);
  return *this;
}

TensorboardWriter::~TensorboardWriter() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace sluice
