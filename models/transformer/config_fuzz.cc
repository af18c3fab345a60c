// Any bytes as the config.json of a transformer: what is read passes check(), survives being
// written, and says where each of its parameters lies.
#include "models/io/json_text.h"
#include "models/transformer/architecture.h"
#include "models/transformer/parameters.h"
#include "models/transformer/rope.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto json = sluice::parse_json(text, {.max_bytes = 1 << 16, .max_depth = 16});
  if (!json.ok()) return 0;
  const auto config = sluice::read_hf_config(*json);
  if (!config.ok()) {
    SLUICE_CHECK(config.status().message().find('\n') == std::string::npos);
    return 0;
  }
  SLUICE_CHECK(sluice::check(*config).ok());
  const auto again = sluice::read_hf_config(sluice::write_hf_config(*config));
  SLUICE_CHECK(again.ok()) << again.status().message();
  SLUICE_CHECK(*again == *config) << "the config changed on its way through a file";
  SLUICE_CHECK(sluice::context_length(*config) >= config->max_positions);
  // Names and shapes of the largest configs take long to list, and are the same for each layer.
  if (config->layers.size() > 64 || config->experts.count > 64) return 0;
  for (const auto& spec : sluice::parameter_specs(*config)) {
    int64_t elements = 1;
    for (const int64_t n : spec.shape) {
      SLUICE_CHECK(n > 0 && !__builtin_mul_overflow(elements, n, &elements)) << spec.name;
    }
    SLUICE_CHECK(!sluice::tensor_source(*config, spec.name).tensor.empty()) << spec.name;
  }
  if (config->head_dim <= 4096) {
    (void)sluice::rope_inv_freq(config->rope, config->head_dim, config->max_positions, 0);
  }
  return 0;
}
