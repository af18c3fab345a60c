// Any bytes as a model's config.json: what is accepted can be laid out, and survives being written.
#include "models/io/json_text.h"
#include "models/transformer/architecture.h"
#include "models/transformer/parameters.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto json = sluice::parse_json(text, {.max_bytes = 1 << 16, .max_depth = 16});
  if (!json.ok()) return 0;
  const auto config = sluice::read_hf_config(*json);
  if (!config.ok()) return 0;
  const auto again = sluice::read_hf_config(sluice::write_hf_config(*config));
  SLUICE_CHECK(again.ok()) << again.status().to_string();
  SLUICE_CHECK(*again == *config) << "the config changed on its way through a file";
  for (const auto& parameter : sluice::parameter_specs(*config)) {
    (void)sluice::tensor_source(*config, parameter.name);
  }
  if (config->rope.type != sluice::RopeType::None) {
    (void)sluice::rope_inv_freq(config->rope, config->head_dim, config->max_positions, 3);
  }
  return 0;
}
