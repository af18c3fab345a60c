// Any bytes as adapter_config.json: a config that is read must survive being written.
#include "models/io/json_text.h"
#include "models/transformer/lora/lora_config.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto json = sluice::parse_json(text, {.max_bytes = 1 << 16, .max_depth = 16});
  if (!json.ok()) return 0;
  const auto config = sluice::LoraConfig::from_json(*json);
  if (!config.ok()) return 0;
  const auto again = sluice::LoraConfig::from_json(config->to_json());
  SLUICE_CHECK(again.ok()) << again.status().to_string();
  SLUICE_CHECK(*again == *config) << "the config changed on its way through a file";
  return 0;
}
