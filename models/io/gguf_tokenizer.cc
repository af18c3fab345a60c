#include "models/io/gguf_model.h"
#include "models/io/gguf_regexes.h"
#include "models/io/json_text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <optional>

namespace sluice {
namespace {

using nlohmann::json;

using internal::kLlama3Regex;
using internal::kQwen2Regex;

enum class TokenType : uint8_t { Normal = 1, Unknown, Control, UserDefined, Unused, Byte };

/// The lists of a GGUF tokenizer, checked against each other.
struct Lists {
  std::string model;
  const std::vector<std::string>* tokens = nullptr;
  const std::vector<int64_t>* types = nullptr;  ///< null: all normal

  [[nodiscard]] TokenType type(size_t id) const {
    return types == nullptr ? TokenType::Normal : static_cast<TokenType>((*types)[id]);
  }
};

Result<Lists> lists(const GgufHeader& header) {
  Lists out;
  ASSIGN_OR_RETURN(out.model, header.string("tokenizer.ggml.model"));
  ASSIGN_OR_RETURN(const GgufArray* tokens,
                   header.array("tokenizer.ggml.tokens", GgufType::String));
  out.tokens = &tokens->strings;
  if (header.find("tokenizer.ggml.token_type") != nullptr) {
    ASSIGN_OR_RETURN(const GgufArray* types,
                     header.array("tokenizer.ggml.token_type", GgufType::I32));
    if (types->ints.size() != out.tokens->size()) {
      return invalid_argument("tokenizer.ggml.token_type has {} values for {} tokens",
                              types->ints.size(), out.tokens->size());
    }
    for (const int64_t type : types->ints) {
      if (type < 1 || type > 6) {
        return invalid_argument("tokenizer.ggml.token_type holds {}", type);
      }
    }
    out.types = &types->ints;
  }
  for (size_t id = 0; id < out.tokens->size(); ++id) {
    if (find_invalid_utf8((*out.tokens)[id]) != std::string_view::npos) {
      return invalid_argument("tokenizer.ggml.tokens[{}] is not UTF-8", id);
    }
  }
  return out;
}

Result<json> vocabulary(const Lists& in) {
  json::object_t out;
  for (size_t id = 0; id < in.tokens->size(); ++id) {
    const auto [at, fresh] = out.emplace((*in.tokens)[id], id);
    if (!fresh) {
      return invalid_argument("tokenizer.ggml.tokens: '{}' is both {} and {}", at->first,
                              at->second.get<size_t>(), id);
    }
  }
  return json(std::move(out));
}

json added_token(size_t id, const std::string& content, bool special) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", special}};
}

json added_tokens(const Lists& in) {
  json out = json::array();
  for (size_t id = 0; id < in.tokens->size(); ++id) {
    const TokenType type = in.type(id);
    const bool special = type == TokenType::Control || type == TokenType::Unknown;
    if (!special && type != TokenType::UserDefined) continue;
    if ((*in.tokens)[id].empty()) continue;
    out.push_back(added_token(id, (*in.tokens)[id], special));
  }
  return out;
}

/// Merges as "a b" strings: the form that every version of the reference reads.
Result<json> merges(const GgufHeader& header) {
  ASSIGN_OR_RETURN(const GgufArray* array, header.array("tokenizer.ggml.merges", GgufType::String));
  json out = json::array();
  for (size_t i = 0; i < array->strings.size(); ++i) {
    const std::string& merge = array->strings[i];
    if (std::count(merge.begin(), merge.end(), ' ') != 1 || merge.front() == ' ' ||
        merge.back() == ' ' || find_invalid_utf8(merge) != std::string_view::npos) {
      return invalid_argument("tokenizer.ggml.merges[{}] is not two parts", i);
    }
    out.push_back(merge);
  }
  return out;
}

json byte_level(bool use_regex) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", false},
          {"trim_offsets", true},
          {"use_regex", use_regex}};
}

json split_then_bytes(const char* regex) {
  return {{"type", "Sequence"},
          {"pretokenizers",
           {{{"type", "Split"},
             {"pattern", {{"Regex", regex}}},
             {"behavior", "Isolated"},
             {"invert", false}},
            byte_level(false)}}};
}

enum class Pre : uint8_t { Gpt2, Smollm, Llama3, Qwen2 };

Result<Pre> pre_tokenizer(const GgufHeader& header) {
  ASSIGN_OR_RETURN(const std::string pre, header.string_or("tokenizer.ggml.pre", "default"));
  const auto is = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), pre) != names.end();
  };
  if (is({"default", "gpt-2", "gpt2", "phi-2", "mpt", "olmo", "jina-v1-en"})) return Pre::Gpt2;
  if (is({"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"})) {
    return Pre::Smollm;
  }
  if (is({"llama-bpe", "llama3", "llama-v3", "dbrx"})) return Pre::Llama3;
  if (is({"qwen2", "deepseek-r1-qwen", "stablelm2", "hunyuan"})) return Pre::Qwen2;
  return error(Code::Unimplemented,
               "tokenizer.ggml.pre is '{}'; known are gpt-2, smollm, starcoder, refact, command-r, "
               "llama-bpe, qwen2, deepseek-r1-qwen",
               pre);
}

/// What a post-processor adds around the text.
struct Ends {
  std::optional<size_t> first;
  std::optional<size_t> last;
};

Result<std::optional<size_t>> token_id(const GgufHeader& header, const Lists& in,
                                       const std::string& key) {
  if (header.find(key) == nullptr) return std::optional<size_t>();
  ASSIGN_OR_RETURN(const int64_t id, header.integer(key));
  if (id < 0 || static_cast<size_t>(id) >= in.tokens->size()) {
    return invalid_argument("{} is {}, but there are {} tokens", key, id, in.tokens->size());
  }
  return std::optional<size_t>(static_cast<size_t>(id));
}

Result<Ends> ends(const GgufHeader& header, const Lists& in) {
  bool bos = in.model == "llama";
  if (in.model == "gpt2") {
    ASSIGN_OR_RETURN(const Pre pre, pre_tokenizer(header));
    bos = pre == Pre::Llama3;
  }
  ASSIGN_OR_RETURN(bos, header.boolean_or("tokenizer.ggml.add_bos_token", bos));
  ASSIGN_OR_RETURN(const bool eos, header.boolean_or("tokenizer.ggml.add_eos_token", false));
  Ends out;
  if (bos) {
    ASSIGN_OR_RETURN(out.first, token_id(header, in, "tokenizer.ggml.bos_token_id"));
  }
  if (eos) {
    ASSIGN_OR_RETURN(out.last, token_id(header, in, "tokenizer.ggml.eos_token_id"));
  }
  return out;
}

json post_processor(const Lists& in, const Ends& ends) {
  if (!ends.first && !ends.last) return nullptr;
  json specials = json::object();
  const auto special = [&](size_t id, int type) {
    const std::string& token = (*in.tokens)[id];
    specials[token] = {{"id", token}, {"ids", {id}}, {"tokens", {token}}};
    return json{{"SpecialToken", {{"id", token}, {"type_id", type}}}};
  };
  const auto sequence = [&](const char* which, int type) {
    json out = json::array();
    if (ends.first) out.push_back(special(*ends.first, type));
    out.push_back({{"Sequence", {{"id", which}, {"type_id", type}}}});
    if (ends.last) out.push_back(special(*ends.last, type));
    return out;
  };
  const json single = sequence("A", 0);
  json pair = single;
  for (auto& part : sequence("B", 1)) pair.push_back(part);
  return {{"type", "TemplateProcessing"},
          {"single", single},
          {"pair", pair},
          {"special_tokens", specials}};
}

json bpe(json vocab, json merge_list) {
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", nullptr},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", false},
          {"byte_fallback", false},
          {"ignore_merges", false},
          {"vocab", std::move(vocab)},
          {"merges", std::move(merge_list)}};
}

Status byte_level_bpe(const GgufHeader& header, const Lists& in, json& out) {
  ASSIGN_OR_RETURN(const Pre pre, pre_tokenizer(header));
  ASSIGN_OR_RETURN(json vocab, vocabulary(in));
  ASSIGN_OR_RETURN(json merge_list, merges(header));
  out["model"] = bpe(std::move(vocab), std::move(merge_list));
  out["decoder"] = byte_level(true);
  switch (pre) {
    case Pre::Gpt2:
      out["pre_tokenizer"] = byte_level(true);
      break;
    case Pre::Smollm:
      // Digits one by one, then GPT-2's pattern: without the first stage "  5" is one piece.
      out["pre_tokenizer"] = {
          {"type", "Sequence"},
          {"pretokenizers", {{{"type", "Digits"}, {"individual_digits", true}}, byte_level(true)}}};
      break;
    case Pre::Llama3:
      out["pre_tokenizer"] = split_then_bytes(kLlama3Regex);
      out["model"]["ignore_merges"] = true;
      break;
    case Pre::Qwen2:
      out["normalizer"] = {{"type", "NFC"}};
      out["pre_tokenizer"] = split_then_bytes(kQwen2Regex);
      break;
  }
  return {};
}

/// Every split of a normal piece into two normal pieces is a merge, the better pieces first: Kudo &
/// Richardson, "SentencePiece" (2018), with scores as ranks.
Result<json> merges_by_score(const Lists& in, const std::vector<double>& scores,
                             const json::object_t& vocab) {
  struct Merge {
    double score;
    size_t left;
    size_t right;
  };
  const std::vector<std::string>& tokens = *in.tokens;
  // Real vocabularies make two to three for each piece, made-up ones as many as it has letters.
  const size_t most = std::min<size_t>(4'000'000, std::max<size_t>(65'536, 16 * tokens.size()));
  const auto normal = [&](json::object_t::const_iterator at) {
    return at != vocab.end() && in.type(at->second.get<size_t>()) == TokenType::Normal;
  };
  std::vector<Merge> all;
  for (size_t id = 0; id < tokens.size(); ++id) {
    const std::string& piece = tokens[id];
    constexpr size_t kLongest = 256;
    if (piece.size() > kLongest || in.type(id) != TokenType::Normal) continue;
    for (size_t cut = 1; cut < piece.size(); ++cut) {
      if ((static_cast<unsigned char>(piece[cut]) & 0xc0) == 0x80) continue;
      const auto left = vocab.find(piece.substr(0, cut));
      if (!normal(left)) continue;
      const auto right = vocab.find(piece.substr(cut));
      if (!normal(right)) continue;
      if (all.size() == most) {
        return invalid_argument("{} tokenizer.ggml.tokens make more than {} merges", tokens.size(),
                                most);
      }
      all.push_back({scores[id], left->second.get<size_t>(), right->second.get<size_t>()});
    }
  }
  // Equal scores stay in the order of ids, then of cuts.
  std::stable_sort(all.begin(), all.end(),
                   [](const Merge& a, const Merge& b) { return a.score > b.score; });
  json out = json::array();
  for (const Merge& merge : all) out.push_back({tokens[merge.left], tokens[merge.right]});
  return out;
}

Status sentencepiece_bpe(const GgufHeader& header, const Lists& in, json& out) {
  ASSIGN_OR_RETURN(const GgufArray* scores, header.array("tokenizer.ggml.scores", GgufType::F32));
  if (scores->floats.size() != in.tokens->size()) {
    return invalid_argument("tokenizer.ggml.scores has {} values for {} tokens",
                            scores->floats.size(), in.tokens->size());
  }
  for (const double score : scores->floats) {
    if (std::isnan(score)) return invalid_argument("tokenizer.ggml.scores holds NaN");
  }
  ASSIGN_OR_RETURN(json vocab, vocabulary(in));
  ASSIGN_OR_RETURN(const bool prefix, header.boolean_or("tokenizer.ggml.add_space_prefix", true));
  ASSIGN_OR_RETURN(json merge_list,
                   merges_by_score(in, scores->floats, vocab.get_ref<const json::object_t&>()));
  out["model"] = bpe(std::move(vocab), std::move(merge_list));
  out["model"]["byte_fallback"] = true;
  out["model"]["fuse_unk"] = true;
  for (size_t id = 0; id < in.tokens->size(); ++id) {
    if (in.type(id) == TokenType::Unknown) out["model"]["unk_token"] = (*in.tokens)[id];
  }
  const json to_mark{{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "▁"}};
  json steps = json::array();
  if (prefix) steps.push_back({{"type", "Prepend"}, {"prepend", "▁"}});
  steps.push_back(to_mark);
  out["normalizer"] = {{"type", "Sequence"}, {"normalizers", steps}};
  json decoders =
      json::array({{{"type", "Replace"}, {"pattern", {{"String", "▁"}}}, {"content", " "}},
                   {{"type", "ByteFallback"}},
                   {{"type", "Fuse"}}});
  if (prefix) {
    decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  }
  out["decoder"] = {{"type", "Sequence"}, {"decoders", decoders}};
  return {};
}

}  // namespace

Result<json> gguf_tokenizer(const GgufHeader& header) {
  ASSIGN_OR_RETURN(const Lists in, lists(header));
  json out{{"version", "1.0"},      {"truncation", nullptr},    {"padding", nullptr},
           {"normalizer", nullptr}, {"pre_tokenizer", nullptr}, {"post_processor", nullptr},
           {"decoder", nullptr}};
  if (in.model == "gpt2") {
    RETURN_IF_ERROR(byte_level_bpe(header, in, out));
  } else if (in.model == "llama") {
    RETURN_IF_ERROR(sentencepiece_bpe(header, in, out));
  } else {
    return error(Code::Unimplemented, "tokenizer.ggml.model is '{}'; known are gpt2 and llama",
                 in.model);
  }
  ASSIGN_OR_RETURN(const Ends around, ends(header, in));
  out["added_tokens"] = added_tokens(in);
  out["post_processor"] = post_processor(in, around);
  return out;
}

Result<json> gguf_tokenizer_config(const GgufHeader& header) {
  ASSIGN_OR_RETURN(const Lists in, lists(header));
  // The class that takes its pipeline from tokenizer.json and builds none of its own.
  json out{{"tokenizer_class", "PreTrainedTokenizerFast"},
           {"add_prefix_space", false},
           {"clean_up_tokenization_spaces", false}};
  const std::pair<const char*, const char*> kTokens[] = {
      {"bos_token", "tokenizer.ggml.bos_token_id"},
      {"eos_token", "tokenizer.ggml.eos_token_id"},
      {"unk_token", "tokenizer.ggml.unknown_token_id"},
      {"pad_token", "tokenizer.ggml.padding_token_id"}};
  for (const auto& [name, key] : kTokens) {
    ASSIGN_OR_RETURN(const auto id, token_id(header, in, key));
    if (id) out[name] = (*in.tokens)[*id];
  }
  ASSIGN_OR_RETURN(const Ends around, ends(header, in));
  out["add_bos_token"] = around.first.has_value();
  out["add_eos_token"] = around.last.has_value();
  json decoder = json::object();
  for (auto& token : added_tokens(in)) {
    const std::string id = std::to_string(token["id"].get<size_t>());
    token.erase("id");
    decoder[id] = token;
  }
  out["added_tokens_decoder"] = decoder;
  ASSIGN_OR_RETURN(const std::string arch, header.string_or("general.architecture", ""));
  if (header.find(arch + ".context_length") != nullptr) {
    ASSIGN_OR_RETURN(out["model_max_length"], header.integer(arch + ".context_length"));
  }
  if (header.find("tokenizer.chat_template") != nullptr) {
    ASSIGN_OR_RETURN(std::string chat, header.string("tokenizer.chat_template"));
    if (find_invalid_utf8(chat) != std::string_view::npos) {
      return invalid_argument("metadata 'tokenizer.chat_template' is not UTF-8");
    }
    out["chat_template"] = std::move(chat);
  }
  return out;
}

}  // namespace sluice
