#include "apps/cli/text_model.h"

#include "inference/engine/paged_attention_op.h"
#include "inference/kernels/packed_linear_op.h"
#include "inference/speculation/neural/make_drafter.h"
#include "models/io/checkpoint.h"
#include "models/io/end_tokens.h"
#include "models/io/load_tokenizer.h"
#include "models/io/model_cache.h"
#include "models/transformer/loading.h"

#include <ATen/Parallel.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

Result<ModelTemplates> templates_of(const std::string& path, const Checkpoint& checkpoint) {
  if (!path.ends_with(".gguf")) return ModelTemplates::load(path);
  ASSIGN_OR_RETURN(const nlohmann::json config, checkpoint.tokenizer_config());
  return ModelTemplates::from_config(config);
}

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
  ASSIGN_OR_RETURN(const std::string path, resolve_model(name));
  ASSIGN_OR_RETURN(const auto checkpoint, Checkpoint::open(path));
  ASSIGN_OR_RETURN(auto tokenizer, load_tokenizer(path));
  ASSIGN_OR_RETURN(const Transformer model, load_transformer(*checkpoint));
  TextModel out;
  out.tokenizer = std::move(tokenizer);
  out.templates = templates_of(path, *checkpoint);
  EngineOptions engine;
  engine.kv_bytes = options.kv_mib << 20;
  engine.end_tokens = end_tokens_of(*checkpoint);
  engine.tokenizer = out.tokenizer;
  engine.kv_format = options.kv;
  const bool exact = options.weights == WeightFormat::Fp32 && options.kv == KvFormat::Fp32;
  engine.attention = std::make_shared<PagedAttentionOp>(exact ? PagedAttentionOp::kNever
                                                              : PagedAttentionOp::kFastFrom);
  engine.linear =
      [format = options.weights](const Transformer& of) -> Result<std::shared_ptr<const LinearOp>> {
    ASSIGN_OR_RETURN(auto op, PackedLinearOp::create(of.config(), of.parameters(), format));
    return std::shared_ptr<const LinearOp>(std::move(op));
  };
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
  EncodeOptions how;
  std::string text;
  if (request.contains("prompt") && request["prompt"].is_string()) {
    text = request["prompt"].get<std::string>();
  } else if (request.contains("messages")) {
    if (!templates.ok()) return templates.status();
    ChatOptions chat;
    chat.special_tokens = templates->special_tokens();
    chat.add_generation_prompt = true;
    const bool tools = request.contains("tools") && !request["tools"].empty();
    if (tools) chat.tools = &request["tools"];
    ASSIGN_OR_RETURN(const ChatTemplate chosen, templates->choose(tools));
    ASSIGN_OR_RETURN(RenderedChat rendered, chosen.render(request["messages"], chat));
    text = std::move(rendered.text);
    how.add_special_tokens = false;
  } else {
    return invalid_argument(
        "there is neither a 'prompt' (text or ids) nor 'messages' nor 'token_ids'");
  }
  ASSIGN_OR_RETURN(const auto ids, tokenizer->encode(text, how));
  return std::vector<int64_t>(ids.begin(), ids.end());
}

void add_format_options(CLI::App& command, TextModelOptions& options) {
  const std::map<std::string, WeightFormat> weights = {
      {"fp32", WeightFormat::Fp32}, {"bf16", WeightFormat::Bf16}, {"int8", WeightFormat::Int8}};
  command.add_option("--weights", options.weights, "fp32 (exact), bf16 or int8")
      ->transform(CLI::CheckedTransformer(weights))
      ->option_text("FORMAT");
  const std::map<std::string, KvFormat> kv = {
      {"fp32", KvFormat::Fp32}, {"bf16", KvFormat::Bf16}, {"int8", KvFormat::Int8}};
  command.add_option("--kv", options.kv, "keys and values: fp32 (exact), bf16 or int8")
      ->transform(CLI::CheckedTransformer(kv))
      ->option_text("FORMAT");
}

}  // namespace sluice
