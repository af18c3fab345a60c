#include "models/tokenizer/post_processor.h"

namespace sluice {

using Kind = JsonDoc::Kind;

namespace {
constexpr uint32_t kMaxId = (1U << 31) - 2;
constexpr size_t kMaxFrame = 4096;
}  // namespace

Result<PostProcessor> PostProcessor::from_json(std::optional<JsonDoc::Value> value,
                                               const std::string& path) {
  PostProcessor made;
  if (value) RETURN_IF_ERROR(made.load(*value, path));
  return made;
}

Status PostProcessor::load(JsonDoc::Value value, const std::string& path) {
  ASSIGN_OR_RETURN(const JsonFields fields, JsonFields::of(value, path));
  ASSIGN_OR_RETURN(const std::string type, fields.text("type"));
  if (type == "ByteLevel") return {};  // moves offsets only
  if (frames_.size() == kMostSteps) return fields.wrong("type", "more than 64 steps");
  if (type == "TemplateProcessing") return load_template(fields);
  if (type == "RobertaProcessing" || type == "BertProcessing") return load_pair(fields);
  if (type != "Sequence") {
    return fields.wrong("type",
                        fmt::format("unknown post-processor {}; known: Sequence, ByteLevel, "
                                    "TemplateProcessing, RobertaProcessing, BertProcessing",
                                    quoted(type)));
  }
  ASSIGN_OR_RETURN(const auto list, fields.require("processors", Kind::Array));
  for (size_t i = 0; i < list.size(); ++i) {
    RETURN_IF_ERROR(load(list.item(i), fmt::format("{}.processors[{}]", path, i)));
  }
  return {};
}

Status PostProcessor::load_template(const JsonFields& fields) {
  ASSIGN_OR_RETURN(const auto single, fields.require("single", Kind::Array));
  ASSIGN_OR_RETURN(const auto specials, fields.optional("special_tokens", Kind::Object));
  Frame frame;
  bool seen = false;
  for (size_t i = 0; i < single.size(); ++i) {
    const std::string path = fmt::format("{}.single[{}]", fields.path(), i);
    ASSIGN_OR_RETURN(const JsonFields piece, JsonFields::of(single.item(i), path));
    if (piece.find("Sequence")) {
      if (seen) return invalid_argument("{}: the text stands twice", path);
      seen = true;
      continue;
    }
    ASSIGN_OR_RETURN(const auto token, piece.require("SpecialToken", Kind::Object));
    ASSIGN_OR_RETURN(const JsonFields named, JsonFields::of(token, path + ".SpecialToken"));
    ASSIGN_OR_RETURN(const std::string name, named.text("id"));
    std::optional<JsonDoc::Value> special;
    const std::string specials_path = fields.path() + ".special_tokens";
    if (specials) {
      ASSIGN_OR_RETURN(const JsonFields all, JsonFields::of(*specials, specials_path));
      special = all.find(name);
    }
    if (!special) {
      return invalid_argument("{}: {} is not in special_tokens", path, quoted(name));
    }
    const std::string special_path = fmt::format("{}[{}]", specials_path, quoted(name));
    ASSIGN_OR_RETURN(const JsonFields entry, JsonFields::of(*special, special_path));
    ASSIGN_OR_RETURN(const auto ids, entry.require("ids", Kind::Array));
    auto& side = seen ? frame.behind : frame.before;
    for (size_t k = 0; k < ids.size(); ++k) {
      ASSIGN_OR_RETURN(const uint32_t id, json_number(ids.item(k), kMaxId,
                                                      fmt::format("{}.ids[{}]", special_path, k)));
      side.push_back(static_cast<TokenId>(id));
      if (side.size() > kMaxFrame) return invalid_argument("{}: too many ids", special_path);
    }
  }
  if (!seen) return fields.wrong("single", "the text is missing");
  frames_.push_back(std::move(frame));
  return {};
}

/// <cls> text <sep>, each given as ["text", id].
Status PostProcessor::load_pair(const JsonFields& fields) {
  const auto id_of = [&](std::string_view key) -> Result<TokenId> {
    ASSIGN_OR_RETURN(const auto pair, fields.require(key, Kind::Array));
    if (pair.size() != 2) return fields.wrong(key, "is not [text, id]");
    ASSIGN_OR_RETURN(const uint32_t id, json_number(pair.item(1), kMaxId,
                                                    fmt::format("{}.{}[1]", fields.path(), key)));
    return static_cast<TokenId>(id);
  };
  ASSIGN_OR_RETURN(const TokenId cls, id_of("cls"));
  ASSIGN_OR_RETURN(const TokenId sep, id_of("sep"));
  frames_.push_back({{cls}, {sep}});
  return {};
}

std::vector<TokenId> PostProcessor::ids() const {
  std::vector<TokenId> all;
  for (const Frame& frame : frames_) {
    all.insert(all.end(), frame.before.begin(), frame.before.end());
    all.insert(all.end(), frame.behind.begin(), frame.behind.end());
  }
  return all;
}

void PostProcessor::apply(std::vector<TokenId>& ids) const {
  for (const Frame& frame : frames_) {
    ids.insert(ids.begin(), frame.before.begin(), frame.before.end());
    ids.insert(ids.end(), frame.behind.begin(), frame.behind.end());
  }
}

}  // namespace sluice
