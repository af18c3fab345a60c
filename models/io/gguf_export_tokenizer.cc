#include "models/io/gguf_regexes.h"
#include "models/io/gguf_writer.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace sluice::internal {
namespace {

using nlohmann::json;

Status bad(const char* what) { return invalid_argument("tokenizer.json: {}", what); }

const json& part(const json& value, const char* key) {
  static const json nothing;
  if (!value.is_object()) return nothing;
  const auto at = value.find(key);
  return at == value.end() ? nothing : *at;
}

/// The stages of a pre-tokenizer, a sequence or not.
std::vector<json> stages(const json& pre) {
  if (part(pre, "type") != "Sequence") return {pre};
  std::vector<json> out;
  for (const auto& stage : part(pre, "pretokenizers")) out.push_back(stage);
  return out;
}

/// The steps of a normalizer, a sequence or not; none for null.
std::vector<json> steps(const json& normalizer) {
  if (normalizer.is_null()) return {};
  if (part(normalizer, "type") != "Sequence") return {normalizer};
  std::vector<json> out;
  for (const auto& step : part(normalizer, "normalizers")) out.push_back(step);
  return out;
}

/// A normalizer that the reader of the file would not put back changes the ids.
Status check_normalizer(const json& normalizer, bool sentencepiece, std::string_view pre) {
  const auto refused = [](const json& step) {
    return error(Code::Unimplemented, "tokenizer.json: normalizer {} has no place in a GGUF file",
                 part(step, "type").dump());
  };
  bool nfc = false;
  for (const json& step : steps(normalizer)) {
    const json& type = part(step, "type");
    const bool spaces = type == "Prepend" || (type == "Replace" && part(step, "content") == "▁");
    if (sentencepiece && spaces) continue;
    if (pre != "qwen2" || type != "NFC") return refused(step);
    nfc = true;
  }
  if (pre == "qwen2" && !nfc) return bad("qwen2's pattern goes with the normalizer NFC");
  return {};
}

/// The name that llama.cpp has for a pre-tokenizer; nothing when it has none that we know.
std::optional<std::string> pre_name(const json& tokenizer) {
  const auto found = stages(part(tokenizer, "pre_tokenizer"));
  const auto regex = [&](const json& stage) -> const json& {
    return part(part(stage, "pattern"), "Regex");
  };
  if (found.size() == 1 && part(found[0], "type") == "ByteLevel" &&
      part(found[0], "use_regex") != false) {
    return "gpt-2";
  }
  if (found.size() != 2 || part(found[1], "type") != "ByteLevel") return std::nullopt;
  if (part(found[0], "type") == "Digits" && part(found[0], "individual_digits") == true) {
    return "smollm";
  }
  if (regex(found[0]) == kLlama3Regex) return "llama-bpe";
  if (regex(found[0]) == kQwen2Regex) return "qwen2";
  return std::nullopt;
}

/// Tokens in the order of their ids, with gaps filled, and their kinds.
struct Tokens {
  std::vector<std::string> text;
  std::vector<int64_t> type;
  std::unordered_map<std::string, size_t> id;
};

Result<Tokens> tokens_of(const json& tokenizer, int64_t rows) {
  constexpr size_t kMost = size_t{1} << 21;
  Tokens out;
  const auto add = [&](const std::string& text, const json& id, int64_t type) -> Status {
    if (!id.is_number_unsigned() || id.get<uint64_t>() >= kMost) {
      return invalid_argument("tokenizer.json: the id of '{}' is not a number below {}", text,
                              kMost);
    }
    const auto at = id.get<size_t>();
    if (out.text.size() <= at) {
      out.text.resize(at + 1);
      out.type.resize(at + 1, 0);
    }
    out.text[at] = text;
    out.type[at] = type;
    out.id[text] = at;
    return {};
  };
  const json& vocab = part(part(tokenizer, "model"), "vocab");
  if (!vocab.is_object()) return bad("the vocabulary is not an object");
  const bool bytes = part(part(tokenizer, "model"), "byte_fallback") == true;
  for (const auto& [text, id] : vocab.items()) {
    const bool is_byte = bytes && text.size() == 6 && text.starts_with("<0x") && text[5] == '>';
    RETURN_IF_ERROR(add(text, id, is_byte ? 6 : 1));
  }
  for (const auto& token : part(tokenizer, "added_tokens")) {
    const json& content = part(token, "content");
    if (!content.is_string()) return bad("an added token has no content");
    RETURN_IF_ERROR(
        add(content.get<std::string>(), part(token, "id"), part(token, "special") == true ? 3 : 4));
  }
  // The embedding may have more rows than there are tokens.
  if (rows > 0 && static_cast<size_t>(rows) <= kMost &&
      out.text.size() < static_cast<size_t>(rows)) {
    out.text.resize(static_cast<size_t>(rows));
    out.type.resize(static_cast<size_t>(rows), 0);
  }
  for (size_t id = 0; id < out.text.size(); ++id) {
    if (out.type[id] != 0) continue;
    out.text[id] = fmt::format("[PAD{}]", id);
    out.type[id] = 5;
  }
  return out;
}

Result<std::vector<std::string>> merges_of(const json& tokenizer) {
  std::vector<std::string> out;
  for (const auto& merge : part(part(tokenizer, "model"), "merges")) {
    if (merge.is_string()) {
      out.push_back(merge.get<std::string>());
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
               merge[1].is_string()) {
      out.push_back(merge[0].get<std::string>() + " " + merge[1].get<std::string>());
    } else {
      return bad("a merge is neither a string nor a pair");
    }
  }
  return out;
}

GgufValue strings(std::vector<std::string> values) {
  GgufArray array;
  array.element = GgufType::String;
  array.strings = std::move(values);
  return {GgufType::Array, std::move(array)};
}

void add_ids(const json& config, const json& model_config, const Tokens& tokens,
             GgufMetadata& out) {
  const std::pair<const char*, const char*> kIds[] = {{"bos_token", "bos_token_id"},
                                                      {"eos_token", "eos_token_id"},
                                                      {"unk_token", "unknown_token_id"},
                                                      {"pad_token", "padding_token_id"}};
  for (const auto& [name, key] : kIds) {
    const json& token = part(config, name);
    const json& text = token.is_object() ? part(token, "content") : token;
    std::optional<int64_t> id;
    if (text.is_string()) {
      const auto at = tokens.id.find(text.get<std::string>());
      if (at != tokens.id.end()) id = static_cast<int64_t>(at->second);
    }
    const json& given = part(model_config, (std::string(name) + "_id").c_str());
    if (!id && given.is_number_unsigned()) id = given.get<int64_t>();
    if (id) out.emplace_back(std::string("tokenizer.ggml.") + key, gguf_u32(*id));
  }
}

/// Whether the post-processor puts a special token before the text.
bool adds_first(const json& post) {
  if (part(post, "type") == "Sequence") {
    for (const auto& stage : part(post, "processors")) {
      if (adds_first(stage)) return true;
    }
    return false;
  }
  const json& single = part(post, "single");
  return single.is_array() && !single.empty() && single[0].contains("SpecialToken");
}

}  // namespace

Status add_gguf_tokenizer(const json& tokenizer, const json& config, const json& model_config,
                          GgufMetadata& out) {
  if (part(part(tokenizer, "model"), "type") != "BPE") {
    return error(Code::Unimplemented, "tokenizer.json: only BPE has a GGUF form here, not {}",
                 part(part(tokenizer, "model"), "type").dump());
  }
  const json& rows = part(model_config, "vocab_size");
  ASSIGN_OR_RETURN(Tokens tokens,
                   tokens_of(tokenizer, rows.is_number_integer() ? rows.get<int64_t>() : 0));
  ASSIGN_OR_RETURN(auto merges, merges_of(tokenizer));
  const bool sentencepiece = part(part(tokenizer, "model"), "byte_fallback") == true;
  const auto add = [&](const char* key, GgufValue value) {
    out.emplace_back(std::string("tokenizer.ggml.") + key, std::move(value));
  };
  if (sentencepiece) {
    RETURN_IF_ERROR(check_normalizer(part(tokenizer, "normalizer"), true, ""));
    add("model", gguf_string("llama"));
    // Ranks become scores: the earlier a piece is merged, the better it is.
    GgufArray scores;
    scores.element = GgufType::F32;
    scores.floats.assign(tokens.text.size(), 0);
    for (size_t rank = merges.size(); rank-- > 0;) {
      std::string piece = merges[rank];
      piece.erase(std::remove(piece.begin(), piece.end(), ' '), piece.end());
      const auto at = tokens.id.find(piece);
      if (at != tokens.id.end()) scores.floats[at->second] = -static_cast<double>(rank + 1);
    }
    add("scores", {GgufType::Array, std::move(scores)});
    const std::string text =
        part(tokenizer, "normalizer").dump() + part(tokenizer, "pre_tokenizer").dump();
    add("add_space_prefix", gguf_bool(text.find("Prepend") != std::string::npos ||
                                      text.find("\"always\"") != std::string::npos ||
                                      text.find("\"first\"") != std::string::npos));
  } else {
    const auto pre = pre_name(tokenizer);
    if (!pre) {
      return error(Code::Unimplemented,
                   "tokenizer.json: this pre-tokenizer has no GGUF name; known are gpt-2, smollm, "
                   "llama-bpe, qwen2");
    }
    RETURN_IF_ERROR(check_normalizer(part(tokenizer, "normalizer"), false, *pre));
    add("model", gguf_string("gpt2"));
    add("pre", gguf_string(*pre));
    add("merges", strings(std::move(merges)));
  }
  add_ids(config, model_config, tokens, out);
  add("add_bos_token", gguf_bool(adds_first(part(tokenizer, "post_processor"))));
  GgufArray types;
  types.element = GgufType::I32;
  types.ints = std::move(tokens.type);
  add("tokens", strings(std::move(tokens.text)));
  add("token_type", {GgufType::Array, std::move(types)});
  const json& chat = part(config, "chat_template");
  if (chat.is_string()) {
    out.emplace_back("tokenizer.chat_template", gguf_string(chat.get<std::string>()));
  }
  return {};
}

}  // namespace sluice::internal
