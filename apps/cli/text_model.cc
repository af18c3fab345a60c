#include "apps/cli/text_model.h"

#include "inference/cuda/devices.h"
#include "inference/engine/packed_weights.h"
#include "inference/speculation/neural/make_drafter.h"
#include "models/io/chat_prompt.h"
#include "models/io/checkpoint.h"
#include "models/io/end_tokens.h"
#include "models/io/load_tokenizer.h"
#include "models/io/model_cache.h"
#include "models/transformer/loading.h"

#include <ATen/Parallel.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

Result<std::vector<int64_t>> ids_of(const Json& list, const char* key) {
  std::vector<int64_t> ids;
  for (const Json& id : list) {
    if (!id.is_number_integer()) return invalid_argument("'{}' must be a list of token ids", key);
    ids.push_back(id.get<int64_t>());
  }
  return ids;
}

}  // namespace

Result<TextModel> TextModel::load(const std::string& name, const TextModelOptions& options) {
  static_cast<void>(at::get_num_threads());  // the first call undoes an earlier setting
  at::set_num_threads(options.threads);
  DeviceOptions how;
  how.graphs = options.graphs;
  ASSIGN_OR_RETURN(const auto executor, make_executor(options.device, how));
  if (executor && (options.weights == WeightFormat::Int8 || options.kv == KvFormat::Int8)) {
    return invalid_argument("int8 is for the CPU; a GPU takes fp32 and bf16");
  }
  ASSIGN_OR_RETURN(const std::string path, resolve_model(name));
  ASSIGN_OR_RETURN(const auto checkpoint, Checkpoint::open(path));
  ASSIGN_OR_RETURN(auto tokenizer, load_tokenizer(path));
  const bool narrow = executor && options.weights == WeightFormat::Bf16;
  const at::ScalarType dtype = narrow ? at::kBFloat16 : at::kFloat;
  ASSIGN_OR_RETURN(const Transformer model, load_transformer(*checkpoint, dtype));
  TextModel out;
  out.tokenizer = std::move(tokenizer);
  out.templates = templates_of(path, *checkpoint);
  EngineOptions engine;
  engine.kv_bytes = options.kv_mib << 20;
  engine.end_tokens = end_tokens_of(*checkpoint);
  engine.tokenizer = out.tokenizer;
  engine.executor = executor;
  if (!executor) {  // a device keeps keys and values as its weights
    engine.kv_format = options.kv;
    engine.linear =
        packed_weights(options.weights);  // a device multiplies by them in their own type
  }
  // Rows of the head beyond the tokenizer's ids are padding.
  engine.vocabulary =
      std::min(model.config().vocab_size, static_cast<int64_t>(out.tokenizer->vocab_size()));
  if (!options.speculate.empty()) {
    DraftTarget target;
    target.model = &model;
    target.tokenizer = out.tokenizer.get();
    target.vocabulary = engine.vocabulary;
    target.linear = engine.linear;
    ASSIGN_OR_RETURN(engine.drafter, make_drafter(options.speculate, target));
  }
  ASSIGN_OR_RETURN(out.engine, Engine::create(model, std::move(engine), VersionTag{0, 0, 0, 0},
                                              RealClock::instance()));
  return out;
}

Result<std::vector<int64_t>> TextModel::encode(const Json& request) const {
  for (const char* key : {"token_ids", "prompt"}) {
    if (request.contains(key) && request[key].is_array()) return ids_of(request[key], key);
  }
  if (request.contains("prompt") && request["prompt"].is_string()) {
    ASSIGN_OR_RETURN(const auto ids, tokenizer->encode(request["prompt"].get<std::string>()));
    return std::vector<int64_t>(ids.begin(), ids.end());
  }
  if (request.contains("messages")) {
    if (!templates.ok()) return templates.status();
    const bool tools = request.contains("tools") && !request["tools"].empty();
    return encode_chat(*templates, *tokenizer, request["messages"],
                       tools ? &request["tools"] : nullptr);
  }
  return invalid_argument(
      "there is neither a 'prompt' (text or ids) nor 'messages' nor 'token_ids'");
}

}  // namespace sluice
