#include "inference/server/api_request.h"

#include "inference/server/body_fields.h"
#include "inference/server/response_format.h"
#include "models/json/strict_json.h"

#include <algorithm>

namespace sluice {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

/// Of one answer, over all its prompts.
constexpr int64_t kMostChoices = 1024;

JsonLimits body_limits() {
  JsonLimits limits;
  limits.max_bytes = size_t{64} << 20;
  return limits;
}

Result<Json> parse_body(std::string_view body) {
  auto json = parse_json(body, body_limits());
  if (!json.ok()) return json.status().with_context("the body is not JSON");
  if (!json->is_object()) {
    return invalid_argument("the body must be a JSON object, not {}", json_kind(*json));
  }
  return *std::move(json);
}

Status check_model(BodyFields& fields, const ServedModel& model) {
  std::string name = model.name;
  fields.read("model", name);
  if (name == model.name) return {};
  return error(Code::NotFound, "the model '{}' does not exist; '{}' is served", name, model.name);
}

/// Text to ids; refuses at once what is too long to fit whatever its tokens are.
Result<std::vector<int64_t>> encode(const std::string& text, bool special,
                                    const ServedModel& model) {
  const auto most = static_cast<size_t>(model.max_length) * model.longest_token;
  if (text.size() > most) {
    return invalid_argument(
        "the prompt has {} bytes, more than fit into the {} tokens of the "
        "model's longest sequence",
        text.size(), model.max_length);
  }
  EncodeOptions options;
  options.add_special_tokens = special;
  ASSIGN_OR_RETURN(const auto ids, model.tokenizer->encode(text, options));
  return std::vector<int64_t>(ids.begin(), ids.end());
}

Status check_prompt(const std::vector<int64_t>& ids, const ServedModel& model, bool scored_only) {
  if (ids.empty()) return invalid_argument("the prompt is empty");
  const int64_t room = model.max_length - (scored_only ? 0 : 1);
  if (std::ssize(ids) > room) {
    return invalid_argument(
        "the prompt has {} tokens; the model's longest sequence has {}, and "
        "the answer needs one",
        ids.size(), model.max_length);
  }
  for (const int64_t id : ids) {
    if (id >= 0 && id < model.vocabulary) continue;
    return invalid_argument("the prompt holds token {}; the vocabulary has {}", id,
                            model.vocabulary);
  }
  return {};
}

void read_logit_bias(BodyFields& fields, SamplingParams& sampling) {
  const Json* bias = fields.find("logit_bias");
  if (bias == nullptr) return;
  fields.require(bias->is_object(), "'logit_bias' must be an object of token ids and numbers");
  if (!bias->is_object()) return;
  for (const auto& [key, value] : bias->items()) {
    const bool id = !key.empty() && key.size() < 10 &&
                    std::ranges::all_of(key, [](char c) { return c >= '0' && c <= '9'; });
    fields.require(id && value.is_number(),
                   fmt::format("'logit_bias' must map token ids to numbers; '{}' does not", key));
    if (!id || !value.is_number()) return;
    const auto by = value.get<double>();
    fields.require(by >= -100 && by <= 100,
                   fmt::format("'logit_bias' of token {} must lie in [-100, 100]", key));
    if (by >= -100 && by <= 100) {
      sampling.logit_bias.emplace_back(std::stoll(key), static_cast<float>(by));
    }
  }
}

/// What both endpoints take.
void read_sampling(BodyFields& fields, GenRequest& request) {
  SamplingParams& s = request.sampling;
  fields.read("n", s.n);
  fields.read("temperature", s.temperature);
  fields.read("top_p", s.top_p);
  if (const Json* k = fields.find("top_k"); k != nullptr) {
    fields.read("top_k", s.top_k);
    if (s.top_k == -1) s.top_k = 0;  // vLLM's "all"
  }
  fields.read("min_p", s.min_p);
  fields.read("repetition_penalty", s.repetition_penalty);
  fields.read("presence_penalty", s.presence_penalty);
  fields.read("frequency_penalty", s.frequency_penalty);
  std::optional<int64_t> seed;  // OpenAI's may be negative
  fields.read("seed", seed);
  if (seed) s.seed = static_cast<uint64_t>(*seed);
  fields.read_texts("stop", s.stop);
  fields.read("stop_token_ids", s.stop_token_ids);
  fields.read("include_stop_str_in_output", s.include_stop_string);
  fields.read("min_tokens", s.min_tokens);
  fields.read("ignore_eos", s.ignore_eos);
  fields.read("allowed_token_ids", s.allowed_tokens);
  read_logit_bias(fields, s);
  fields.read("priority", request.priority);
  fields.read("cache_salt", request.salt);
  fields.only("skip_special_tokens", true);
  fields.only("use_beam_search", false);
  fields.ignore({"user", "metadata", "store", "service_tier", "safety_identifier",
                 "prompt_cache_key", "request_id"});
}

void read_stream(BodyFields& fields, ApiRequest& out) {
  fields.read("stream", out.stream);
  const Json* options = fields.find("stream_options");
  if (options == nullptr) return;
  fields.require(options->is_object(), "'stream_options' must be an object");
  fields.require(out.stream, "'stream_options' is for streams only");
  if (!options->is_object()) return;
  BodyFields inner(*options, "stream_options.");
  inner.read("include_usage", out.include_usage);
  inner.ignore({"continuous_usage_stats", "include_obfuscation"});
  const Status status = inner.status();
  fields.require(status.ok(), status.message());
}

/// n, seed and so on make sense, for the vocabulary.
Status check_sampling(const GenRequest& request, const ServedModel& model) {
  return check(request.sampling, model.vocabulary);
}

struct Prompt {
  std::string text;
  std::vector<int64_t> ids;
};

Result<Prompt> read_prompt(const Json& prompt, bool special, const ServedModel& model) {
  Prompt out;
  if (prompt.is_string()) {
    out.text = prompt.get<std::string>();
    if (out.text.empty()) return invalid_argument("the prompt is empty");
    ASSIGN_OR_RETURN(out.ids, encode(out.text, special, model));
    return out;
  }
  for (const Json& id : prompt) {
    if (!id.is_number_integer()) {
      return invalid_argument("'prompt' must be text, a list of token ids, or a list of such");
    }
    out.ids.push_back(id.get<int64_t>());
  }
  return out;
}

/// A prompt, or a list of several.
Result<std::vector<Prompt>> read_prompts(const Json* prompt, bool special,
                                         const ServedModel& model) {
  constexpr auto kMost = static_cast<size_t>(kMostChoices);
  if (prompt == nullptr) return invalid_argument("'prompt' is missing");
  if (!prompt->is_string() && !prompt->is_array()) {
    return invalid_argument("'prompt' must be text, a list of token ids, or a list of such, not {}",
                            json_kind(*prompt));
  }
  if (prompt->empty()) return invalid_argument("the prompt is empty");
  std::vector<Prompt> out;
  const bool several =
      prompt->is_array() && (prompt->front().is_string() || prompt->front().is_array());
  if (!several) {
    ASSIGN_OR_RETURN(Prompt one, read_prompt(*prompt, special, model));
    out.push_back(std::move(one));
    return out;
  }
  if (prompt->size() > kMost) {
    return invalid_argument("{} prompts; at most {} are taken at once", prompt->size(), kMost);
  }
  for (const Json& item : *prompt) {
    if (!item.is_string() && !item.is_array()) {
      return invalid_argument("'prompt' must be text, a list of token ids, or a list of such");
    }
    ASSIGN_OR_RETURN(Prompt one, read_prompt(item, special, model));
    out.push_back(std::move(one));
  }
  return out;
}

/// Content that comes in parts, as one text. Only text is understood.
Status join_parts(OrderedJson& message) {
  const auto content = message.find("content");
  if (content == message.end() || !content->is_array()) return {};
  std::string text;
  for (const auto& part : *content) {
    const bool is_text = part.is_object() && part.contains("type") && part["type"] == "text" &&
                         part.contains("text") && part["text"].is_string();
    if (!is_text) return invalid_argument("message content must be text, or parts of type 'text'");
    text += part["text"].get<std::string>();
  }
  *content = text;
  return {};
}

Result<OrderedJson> read_messages(const OrderedJson& body) {
  if (!body.contains("messages")) return invalid_argument("'messages' is missing");
  OrderedJson messages = body["messages"];
  if (!messages.is_array() || messages.empty()) {
    return invalid_argument("'messages' must be a list of at least one message");
  }
  for (OrderedJson& message : messages) {
    if (!message.is_object() || !message.contains("role") || !message["role"].is_string()) {
      return invalid_argument("each of 'messages' must be an object with a 'role'");
    }
    RETURN_IF_ERROR(join_parts(message));
  }
  return messages;
}

/// The ids of a conversation.
Result<std::vector<int64_t>> read_conversation(std::string_view body, const ServedModel& model,
                                               BodyFields& fields) {
  bool generation_prompt = true;
  fields.read("add_generation_prompt", generation_prompt);
  fields.only("add_special_tokens", false);
  fields.only("continue_final_message", false);
  static_cast<void>(fields.find("messages"));
  const Json* tools = fields.find("tools");
  fields.require(tools == nullptr || tools->is_array(), "'tools' must be a list");
  std::string choice = "auto";
  if (const Json* given = fields.find("tool_choice"); given != nullptr) {
    fields.require(*given == "auto" || *given == "none",
                   "'tool_choice' must be \"auto\" or \"none\"");
    if (given->is_string()) choice = given->get<std::string>();
  }
  const Json* more = fields.find("chat_template_kwargs");
  fields.require(more == nullptr || more->is_object(), "'chat_template_kwargs' must be an object");
  RETURN_IF_ERROR(fields.status());
  if (!model.templates.ok()) {
    return invalid_argument("the model has no chat template: {}",
                            model.templates.status().message());
  }
  // Templates print tools and arguments in the order in which they were given.
  ASSIGN_OR_RETURN(const OrderedJson ordered, parse_ordered_json(body, body_limits()));
  ASSIGN_OR_RETURN(const OrderedJson messages, read_messages(ordered));
  const bool with_tools = tools != nullptr && !tools->empty() && choice != "none";
  ChatOptions options;
  options.special_tokens = model.templates->special_tokens();
  options.add_generation_prompt = generation_prompt;
  if (with_tools) options.tools = &ordered["tools"];
  if (more != nullptr) options.variables = &ordered["chat_template_kwargs"];
  ASSIGN_OR_RETURN(const ChatTemplate chosen, model.templates->choose(with_tools));
  auto rendered = chosen.render(messages, options);
  if (!rendered.ok()) return invalid_argument("{}", rendered.status().message());
  return encode(rendered->text, false, model);
}

}  // namespace

Result<ApiRequest> read_completion(std::string_view body, const ServedModel& model) {
  ASSIGN_OR_RETURN(const Json json, parse_body(body));
  BodyFields fields(json);
  RETURN_IF_ERROR(check_model(fields, model));
  ApiRequest out;
  GenRequest request;
  SamplingParams& sampling = request.sampling;
  read_sampling(fields, request);
  ASSIGN_OR_RETURN(request.constraint, read_response_format(fields, body, *model.constraints));
  read_stream(fields, out);
  fields.read("max_tokens", sampling.max_tokens);
  fields.require(sampling.max_tokens >= 0, "'max_tokens' must be 1 or more");
  std::optional<int32_t> top;
  fields.read("logprobs", top);
  out.logprobs = top.has_value();
  sampling.top_logprobs = top.value_or(0);
  fields.require(sampling.top_logprobs <= 20, "'logprobs' must lie in [0, 20]");
  fields.read("echo", out.echo);
  fields.read("return_token_ids", out.token_ids);
  bool special = true;
  fields.read("add_special_tokens", special);
  fields.only("suffix", "");
  fields.only("best_of", sampling.n);
  const Json* prompt = fields.find("prompt");
  RETURN_IF_ERROR(fields.status());
  sampling.prompt_logprobs = out.echo && out.logprobs;
  if (sampling.prompt_logprobs && out.stream) {
    return invalid_argument("'echo' with 'logprobs' cannot be streamed");
  }
  RETURN_IF_ERROR(check_sampling(request, model));
  ASSIGN_OR_RETURN(auto prompts, read_prompts(prompt, special, model));
  if (std::ssize(prompts) * sampling.n > kMostChoices) {
    return invalid_argument("{} prompts with n = {}: at most {} choices are given at once",
                            prompts.size(), sampling.n, kMostChoices);
  }
  for (Prompt& one : prompts) {
    RETURN_IF_ERROR(check_prompt(one.ids, model, sampling.max_tokens == 0));
    if (out.echo && one.text.empty()) {
      one.text = model.tokenizer->decode(std::vector<TokenId>(one.ids.begin(), one.ids.end()));
    }
    out.prompts.push_back(std::move(one.text));
    out.requests.push_back(request);
    out.requests.back().prompt = std::move(one.ids);
  }
  return out;
}

Result<ApiRequest> read_chat(std::string_view body, const ServedModel& model) {
  ASSIGN_OR_RETURN(const Json json, parse_body(body));
  BodyFields fields(json);
  RETURN_IF_ERROR(check_model(fields, model));
  ApiRequest out;
  out.chat = true;
  GenRequest request;
  SamplingParams& sampling = request.sampling;
  read_sampling(fields, request);
  ASSIGN_OR_RETURN(request.constraint, read_response_format(fields, body, *model.constraints));
  read_stream(fields, out);
  std::optional<int32_t> max_tokens, max_completion;
  fields.read("max_tokens", max_tokens);
  fields.read("max_completion_tokens", max_completion);
  if (max_completion) max_tokens = max_completion;
  fields.require(max_tokens.value_or(1) >= 1, "'max_tokens' must be 1 or more");
  fields.read("logprobs", out.logprobs);
  fields.read("top_logprobs", sampling.top_logprobs);
  fields.require(sampling.top_logprobs == 0 || out.logprobs,
                 "'top_logprobs' needs 'logprobs': true");
  fields.require(sampling.top_logprobs <= 20, "'top_logprobs' must lie in [0, 20]");
  fields.read("return_token_ids", out.token_ids);
  fields.only("echo", false);
  fields.ignore({"parallel_tool_calls", "reasoning_effort", "verbosity"});
  sampling.max_tokens = max_tokens.value_or(1);
  ASSIGN_OR_RETURN(request.prompt, read_conversation(body, model, fields));
  RETURN_IF_ERROR(check_prompt(request.prompt, model, false));
  if (!max_tokens) {
    sampling.max_tokens = static_cast<int32_t>(model.max_length - std::ssize(request.prompt));
  }
  RETURN_IF_ERROR(check_sampling(request, model));
  out.requests.push_back(std::move(request));
  return out;
}

Result<std::vector<int64_t>> read_tokenize(std::string_view body, const ServedModel& model) {
  ASSIGN_OR_RETURN(const Json json, parse_body(body));
  BodyFields fields(json);
  RETURN_IF_ERROR(check_model(fields, model));
  if (json.contains("messages")) return read_conversation(body, model, fields);
  std::string prompt;
  bool special = true;
  fields.read("prompt", prompt);
  fields.read("add_special_tokens", special);
  RETURN_IF_ERROR(fields.status());
  if (!json.contains("prompt")) return invalid_argument("'prompt' is missing");
  return encode(prompt, special, model);
}

Result<std::string> read_detokenize(std::string_view body, const ServedModel& model) {
  ASSIGN_OR_RETURN(const Json json, parse_body(body));
  BodyFields fields(json);
  RETURN_IF_ERROR(check_model(fields, model));
  std::vector<int64_t> tokens;
  fields.read("tokens", tokens);
  RETURN_IF_ERROR(fields.status());
  if (!json.contains("tokens")) return invalid_argument("'tokens' is missing");
  for (const int64_t id : tokens) {
    if (id >= 0 && id < static_cast<int64_t>(model.tokenizer->vocab_size())) continue;
    return invalid_argument("token {} is outside the vocabulary of {}", id,
                            model.tokenizer->vocab_size());
  }
  return model.tokenizer->decode(std::vector<TokenId>(tokens.begin(), tokens.end()),
                                 {.skip_special_tokens = false});
}

}  // namespace sluice
