#include "inference/server/api_response.h"

#include <algorithm>
#include <cmath>

namespace sluice {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// JSON has no infinity.
double finite(float logprob) {
  constexpr double kLeast = -9999;
  return std::isfinite(logprob) ? std::max<double>(logprob, kLeast) : kLeast;
}

int64_t characters(const std::string& text) {
  int64_t n = 0;
  for (const char c : text) n += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
  return n;
}

OrderedJson bytes_of(const std::string& text) {
  OrderedJson out = OrderedJson::array();
  for (const char c : text) out.push_back(static_cast<unsigned char>(c));
  return out;
}

OrderedJson finish_of(FinishReason reason) {
  if (reason == FinishReason::None) return nullptr;
  return std::string(name(reason));
}

OrderedJson ids_of(const std::vector<SampledToken>& tokens) {
  OrderedJson out = OrderedJson::array();
  for (const SampledToken& token : tokens) out.push_back(token.token);
  return out;
}

std::string sse(const std::string& data) { return "data: " + data + "\n\n"; }

}  // namespace

int http_status(const Status& status) noexcept {
  switch (status.code()) {
    case Code::Ok:
      return 200;
    case Code::InvalidArgument:
    case Code::OutOfRange:
    case Code::ResourceExhausted:
    case Code::FailedPrecondition:
    case Code::Unimplemented:
      return 400;
    case Code::NotFound:
      return 404;
    case Code::Unavailable:
      return 429;
    case Code::Aborted:
    case Code::Cancelled:
      return 503;
    default:
      return 500;
  }
}

std::string json_text(const OrderedJson& value) {
  return value.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

std::string api_error(int status, const std::string& message) {
  std::string type = "invalid_request_error";
  if (status == 401) type = "authentication_error";
  if (status == 404) type = "not_found_error";
  if (status == 429) type = "rate_limit_error";
  if (status >= 500) type = "server_error";
  const std::string line = message.substr(0, message.find('\n'));
  return json_text(
      {{"error", {{"message", line}, {"type", type}, {"param", nullptr}, {"code", status}}}});
}

ApiResponse::ApiResponse(const ApiRequest& request, const ServedModel& model, std::string id,
                         int64_t created)
    : request_(request), model_(model), id_(std::move(id)), created_(created) {
  int64_t choices = 0;
  for (const GenRequest& one : request.requests) choices += one.sampling.n;
  choices_.resize(static_cast<size_t>(choices));
}

OrderedJson ApiResponse::frame(bool chunk) const {
  std::string object = request_.chat ? "chat.completion" : "text_completion";
  if (request_.chat && chunk) object += ".chunk";
  return {{"id", id_}, {"object", object}, {"created", created_}, {"model", model_.name}};
}

std::string ApiResponse::event(Json choice) const {
  Json out = frame(true);
  out["choices"] = Json::array({std::move(choice)});
  return sse(json_text(out));
}

size_t ApiResponse::prompt_of(int64_t choice) const {
  const auto& first = request_.requests.front();
  return static_cast<size_t>(choice / first.sampling.n);
}

std::string ApiResponse::opening() {
  std::string out;
  for (size_t i = 0; i < choices_.size(); ++i) {
    Json choice{{"index", i}};
    if (request_.chat) {
      choice["delta"] = {{"role", "assistant"}, {"content", ""}};
    } else if (request_.echo) {
      choice["text"] = request_.prompts[prompt_of(static_cast<int64_t>(i))];
    } else {
      continue;
    }
    choice["logprobs"] = nullptr;
    choice["finish_reason"] = nullptr;
    out += event(std::move(choice));
  }
  return out;
}

std::string ApiResponse::events(const std::vector<Piece>& pieces) {
  std::string out;
  for (const Piece& piece : pieces) {
    if (!piece.error.ok()) {
      out += sse(api_error(500, piece.error.message()));
      if (piece.finish == FinishReason::None) continue;
    }
    const bool ends = piece.finish != FinishReason::None;
    const bool named = (request_.logprobs || request_.token_ids) && !piece.tokens.empty();
    if (piece.text.empty() && !ends && !named) continue;
    Choice& state = choices_[static_cast<size_t>(piece.choice)];
    Json choice{{"index", piece.choice}};
    if (request_.chat) {
      choice["delta"] = Json::object();
      if (!piece.text.empty()) choice["delta"]["content"] = piece.text;
    } else {
      choice["text"] = piece.text;
    }
    choice["logprobs"] = nullptr;
    if (request_.logprobs && !piece.tokens.empty()) {
      choice["logprobs"] = request_.chat ? chat_logprobs(piece.tokens)
                                         : text_logprobs(piece.tokens, state.characters);
    }
    choice["finish_reason"] = finish_of(piece.finish);
    if (request_.token_ids) choice["token_ids"] = ids_of(piece.tokens);
    out += event(std::move(choice));
  }
  return out;
}

std::string ApiResponse::closing(const Usage& usage) {
  std::string out;
  if (request_.include_usage) {
    Json last = frame(true);
    last["choices"] = Json::array();
    last["usage"] = usage_of(usage);
    out += sse(json_text(last));
  }
  return out + sse("[DONE]");
}

void ApiResponse::add(std::vector<Piece> pieces) {
  for (Piece& piece : pieces) {
    if (!piece.error.ok() && failure_.ok()) failure_ = piece.error;
    Choice& choice = choices_[static_cast<size_t>(piece.choice)];
    choice.text += piece.text;
    for (SampledToken& token : piece.tokens) choice.tokens.push_back(std::move(token));
    if (piece.finish != FinishReason::None) choice.finish = piece.finish;
  }
}

std::string ApiResponse::whole(const News& done) const {
  Json out = frame(false);
  out["system_fingerprint"] = done.version;
  out["choices"] = Json::array();
  for (size_t i = 0; i < choices_.size(); ++i) {
    const Choice& from = choices_[i];
    const size_t prompt = prompt_of(static_cast<int64_t>(i));
    Json choice{{"index", i}};
    if (request_.chat) {
      choice["message"] = {{"role", "assistant"}, {"content", from.text}};
    } else {
      choice["text"] = (request_.echo ? request_.prompts[prompt] : std::string()) + from.text;
    }
    choice["logprobs"] = nullptr;
    if (request_.logprobs) {
      int64_t at = 0;
      choice["logprobs"] = request_.chat ? chat_logprobs(from.tokens)
                           : request_.echo
                               ? echoed_logprobs(from, prompt, done.prompt_logprobs[prompt])
                               : text_logprobs(from.tokens, at);
    }
    choice["finish_reason"] = finish_of(from.finish);
    if (request_.token_ids) {
      choice["token_ids"] = ids_of(from.tokens);
      choice["prompt_token_ids"] = request_.requests[prompt].prompt;
    }
    out["choices"].push_back(std::move(choice));
  }
  out["usage"] = usage_of(done.usage);
  return json_text(out);
}

std::string ApiResponse::token_text(int64_t token) const {
  const auto id = static_cast<TokenId>(token);
  return model_.tokenizer->decode({&id, 1}, {.skip_special_tokens = false});
}

OrderedJson ApiResponse::chat_logprobs(const std::vector<SampledToken>& tokens) const {
  const auto entry = [&](int64_t token, float logprob) {
    const std::string text = token_text(token);
    // A token may be a part of a character: its text is then U+FFFD, its bytes are not.
    const std::string bytes = model_.tokenizer->bytes_behind(static_cast<TokenId>(token));
    return Json{{"token", text}, {"logprob", finite(logprob)}, {"bytes", bytes_of(bytes)}};
  };
  Json content = Json::array();
  for (const SampledToken& token : tokens) {
    Json one = entry(token.token, token.logprob_temperature);
    one["top_logprobs"] = Json::array();
    for (const TokenLogprob& top : token.top) {
      one["top_logprobs"].push_back(entry(top.token, top.logprob));
    }
    content.push_back(std::move(one));
  }
  return {{"content", std::move(content)}};
}

OrderedJson ApiResponse::text_logprobs(const std::vector<SampledToken>& tokens,
                                       int64_t& characters_so_far) const {
  Json out{{"tokens", Json::array()},
           {"token_logprobs", Json::array()},
           {"top_logprobs", Json::array()},
           {"text_offset", Json::array()}};
  for (const SampledToken& token : tokens) {
    const std::string text = token_text(token.token);
    Json top = Json::object();
    for (const TokenLogprob& other : token.top) {
      top[token_text(other.token)] = finite(other.logprob);
    }
    top[text] = finite(token.logprob_temperature);
    out["tokens"].push_back(text);
    out["token_logprobs"].push_back(finite(token.logprob_temperature));
    out["top_logprobs"].push_back(std::move(top));
    out["text_offset"].push_back(characters_so_far);
    characters_so_far += characters(text);
  }
  return out;
}

OrderedJson ApiResponse::echoed_logprobs(const Choice& choice, size_t prompt,
                                         const std::vector<float>& scores) const {
  std::vector<SampledToken> all;
  const std::vector<int64_t>& ids = request_.requests[prompt].prompt;
  for (size_t i = 0; i < ids.size(); ++i) {
    SampledToken token;
    token.token = ids[i];
    token.logprob_temperature = i < scores.size() ? scores[i] : 0;
    all.push_back(std::move(token));
  }
  all.insert(all.end(), choice.tokens.begin(), choice.tokens.end());
  int64_t at = 0;
  Json out = text_logprobs(all, at);
  // Nothing predicts the first token.
  out["token_logprobs"][0] = nullptr;
  out["top_logprobs"][0] = nullptr;
  return out;
}

OrderedJson ApiResponse::usage_of(const Usage& usage) const {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
          {"prompt_tokens_details", {{"cached_tokens", usage.cached_tokens}}}};
}

}  // namespace sluice
