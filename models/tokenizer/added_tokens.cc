#include "models/tokenizer/added_tokens.h"

#include "models/tokenizer/unicode.h"
#include "models/tokenizer/utf8.h"

#include <cstring>

namespace sluice {
namespace {

constexpr size_t kMaxContent = 1024;  // bounds the work at each place of a text
constexpr size_t kMaxTokens = 1 << 20;

Result<AddedToken> read_token(const JsonFields& fields, size_t model_size) {
  AddedToken token;
  ASSIGN_OR_RETURN(const uint32_t id, fields.number("id", max_added_id(model_size)));
  token.id = static_cast<TokenId>(id);
  ASSIGN_OR_RETURN(token.content, fields.text("content"));
  if (token.content.empty()) return fields.wrong("content", "is empty");
  if (token.content.size() > kMaxContent) {
    return fields.wrong("content", fmt::format("has {} bytes; at most {} are taken",
                                               token.content.size(), kMaxContent));
  }
  ASSIGN_OR_RETURN(token.special, fields.boolean_or("special", false));
  ASSIGN_OR_RETURN(token.normalized, fields.boolean_or("normalized", !token.special));
  ASSIGN_OR_RETURN(token.lstrip, fields.boolean_or("lstrip", false));
  ASSIGN_OR_RETURN(token.rstrip, fields.boolean_or("rstrip", false));
  ASSIGN_OR_RETURN(token.single_word, fields.boolean_or("single_word", false));
  return token;
}

}  // namespace

Result<AddedTokens> AddedTokens::from_json(const JsonFields& root, const Vocabulary& model,
                                           const Normalizer& normalizer) {
  AddedTokens added;
  ASSIGN_OR_RETURN(const auto list, root.optional("added_tokens", JsonDoc::Kind::Array));
  if (!list) return added;
  if (list->size() > kMaxTokens) {
    return root.wrong("added_tokens",
                      fmt::format("{} of them; at most {} are taken", list->size(), kMaxTokens));
  }
  size_t largest = 0;  // among the ids so far
  for (size_t i = 0; i < list->size(); ++i) {
    const std::string path = fmt::format("{}.added_tokens[{}]", root.path(), i);
    ASSIGN_OR_RETURN(const JsonFields fields, JsonFields::of(list->item(i), path));
    ASSIGN_OR_RETURN(AddedToken token, read_token(fields, model.size()));
    const TokenId known = model.find(token.content);
    // Files list added tokens in the order of their ids and without gaps; the reference
    // implementation counts on and never looks at the id.
    const TokenId expected =
        known != kNoToken ? known
                          : static_cast<TokenId>(std::max(model.size(), i > 0 ? largest + 1 : 0));
    if (token.id != expected) {
      return fields.wrong("id",
                          fmt::format("{} for {}, whose id {} {}", token.id, quoted(token.content),
                                      known != kNoToken ? "in the model is" : "must be", expected));
    }
    const auto index = static_cast<uint32_t>(added.tokens_.size());
    if (!added.by_content_.emplace(token.content, index).second) {
      return fields.wrong("content", fmt::format("{} stands twice", quoted(token.content)));
    }
    if (known == kNoToken && model.has(token.id)) {
      return fields.wrong(
          "id", fmt::format("{} is that of {} too", token.id, quoted(model.text(token.id))));
    }
    largest = std::max(largest, static_cast<size_t>(token.id));
    if (!added.by_id_.emplace(token.id, index).second) {
      return fields.wrong("id", fmt::format("{} stands twice", token.id));
    }
    token.text = token.content;
    if (token.normalized) RETURN_IF_ERROR(normalizer.apply(token.text));
    added.finders_[token.normalized ? 1 : 0].add(token.text, index);
    added.tokens_.push_back(std::move(token));
  }
  return added;
}

void AddedTokens::Finder::add(std::string_view content, uint32_t token) {
  if (content.empty()) return;
  if (nodes_.empty()) nodes_.push_back(kNone);
  const auto child = [this](uint32_t& slot) {
    if (slot == 0) {
      slot = static_cast<uint32_t>(nodes_.size());
      nodes_.push_back(kNone);
    }
    return slot;
  };
  uint32_t& root = roots_[static_cast<unsigned char>(content[0])];
  if (root == 0) {
    ++firsts_;
    first_ = content[0];
  }
  uint32_t node = child(root);
  for (const char c : content.substr(1)) {
    node = child(edges_[static_cast<uint64_t>(node) << 8 | static_cast<unsigned char>(c)]);
  }
  if (nodes_[node] == kNone) nodes_[node] = token;
}

AddedTokens::Finder::Match AddedTokens::Finder::next(std::string_view text, size_t from) const {
  for (size_t at = from; at < text.size(); ++at) {
    if (firsts_ == 1) {
      const void* found = std::memchr(text.data() + at, first_, text.size() - at);
      if (found == nullptr) break;
      at = static_cast<size_t>(static_cast<const char*>(found) - text.data());
    }
    Match match{at, 0, 0};
    uint32_t node = roots_[static_cast<unsigned char>(text[at])];
    for (size_t i = at + 1; node != 0; ++i) {
      if (nodes_[node] != kNone) match = {at, i, nodes_[node]};
      if (i >= text.size()) break;
      const auto edge =
          edges_.find(static_cast<uint64_t>(node) << 8 | static_cast<unsigned char>(text[i]));
      node = edge == edges_.end() ? 0 : edge->second;
    }
    if (match.end != 0) return match;
  }
  return {0, 0, 0};
}

void AddedTokens::cut(std::string_view text, bool normalized, bool skip_special,
                      std::vector<Part>& out) const {
  const Finder& finder = finders_[normalized ? 1 : 0];
  const auto flags_before = [&](size_t i) { return unicode::flags_at(utf8::previous(&text[i])); };
  size_t start = 0;  // of what has not been cut yet
  size_t from = 0;   // where the search goes on
  while (!finder.empty() && from < text.size()) {
    const Finder::Match match = finder.next(text, from);
    if (match.end == 0) break;
    from = match.end;
    const AddedToken& token = tokens_[match.token];
    if (skip_special && token.special) continue;
    if (token.single_word) {
      const bool before = match.begin > 0 && (flags_before(match.begin) & unicode::kWord) != 0;
      const bool behind =
          match.end < text.size() && (unicode::flags_at(&text[match.end]) & unicode::kWord) != 0;
      if (before || behind) continue;
    }
    size_t begin = match.begin;
    size_t end = match.end;
    if (token.lstrip) {
      while (begin > start && (flags_before(begin) & unicode::kSpace) != 0) {
        begin = static_cast<size_t>(utf8::previous(&text[begin]) - text.data());
      }
      // What a token before this one took stays with it.
      begin = std::max(begin, start);
    }
    if (token.rstrip) {
      while (end < text.size() && (unicode::flags_at(&text[end]) & unicode::kSpace) != 0) {
        end += utf8::length_of(text[end]);
      }
    }
    if (start < begin) out.push_back({kNoToken, start, begin});
    out.push_back({token.id, begin, end});
    start = end;
  }
  if (start < text.size()) out.push_back({kNoToken, start, text.size()});
}

const AddedToken* AddedTokens::find(TokenId id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &tokens_[found->second];
}

TokenId AddedTokens::find(std::string_view content) const {
  const auto found = by_content_.find(std::string(content));
  return found == by_content_.end() ? kNoToken : tokens_[found->second].id;
}

bool AddedTokens::is_special(std::string_view content) const {
  const auto found = by_content_.find(std::string(content));
  return found != by_content_.end() && tokens_[found->second].special;
}

}  // namespace sluice
