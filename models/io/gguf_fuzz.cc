// Any bytes: the header parser, and all that turns its metadata into Hugging Face form.
#include "models/io/gguf_model.h"

#include <nlohmann/json.hpp>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto header = sluice::GgufHeader::parse(sluice::MemorySource(bytes));
  if (!header.ok()) {
    SLUICE_CHECK(header.status().message().find('\n') == std::string::npos);
    return 0;
  }
  for (const auto& tensor : header->tensors) {
    SLUICE_CHECK(tensor.offset <= size && tensor.bytes <= size - tensor.offset) << tensor.name;
  }
  const auto config = sluice::gguf_config(*header, {});
  if (config.ok()) (void)sluice::gguf_sources(*header, *config);
  (void)sluice::gguf_generation_config(*header);
  (void)sluice::gguf_tokenizer(*header);
  (void)sluice::gguf_tokenizer_config(*header);
  return 0;
}
