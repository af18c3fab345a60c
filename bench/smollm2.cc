#include "bench/smollm2.h"

#include <nlohmann/json.hpp>

namespace sluice::bench {

nlohmann::json smollm2_config() {
  return {{"architectures", {"LlamaForCausalLM"}},
          {"vocab_size", 49152},
          {"hidden_size", 576},
          {"intermediate_size", 1536},
          {"num_hidden_layers", 30},
          {"num_attention_heads", 9},
          {"num_key_value_heads", 3},
          {"max_position_embeddings", 8192},
          {"rms_norm_eps", 1e-5},
          {"rope_theta", 100000.0},
          {"tie_word_embeddings", true}};
}

}  // namespace sluice::bench
