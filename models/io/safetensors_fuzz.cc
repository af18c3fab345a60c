// Any bytes: the header parser refuses or accepts, and what it accepts lies within the file.
#include "dataflow/base/result.h"
#include "models/io/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto header = sluice::SafetensorsHeader::parse(sluice::MemorySource(bytes));
  if (!header.ok()) {
    SLUICE_CHECK(header.status().message().find('\n') == std::string::npos);
    return 0;
  }
  for (const auto& entry : header->entries) {
    SLUICE_CHECK(entry.offset <= size && entry.bytes <= size - entry.offset) << entry.name;
  }
  return 0;
}
