// Any bytes as config.json or tokenizer.json: the strict parser, and the writers of GGUF metadata.
#include "models/io/gguf_writer.h"
#include "models/io/json_text.h"

#include <nlohmann/json.hpp>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto value = sluice::parse_json(text, {1 << 20, 64});
  if (!value.ok()) return 0;
  SLUICE_CHECK(nlohmann::json::parse(value->dump(), nullptr, false) == *value);
  if (!value->is_object()) return 0;
  (void)sluice::internal::gguf_architecture_of(*value);
  sluice::GgufMetadata metadata;
  (void)sluice::internal::add_gguf_tokenizer(*value, *value, *value, metadata);
  (void)sluice::internal::llama3_rope_factors(*value);
  return 0;
}
