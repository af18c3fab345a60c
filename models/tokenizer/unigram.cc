#include "models/tokenizer/unigram.h"

#include "models/tokenizer/utf8.h"

#include <algorithm>
#include <cmath>

namespace sluice {

using Kind = JsonDoc::Kind;

Result<std::unique_ptr<TokenModel>> Unigram::from_json(const JsonFields& fields) {
  constexpr size_t kMostPieces = size_t{1} << 24;
  auto model = std::make_unique<Unigram>();
  ASSIGN_OR_RETURN(const JsonDoc::Value vocab, fields.require("vocab", Kind::Array));
  if (vocab.size() == 0 || vocab.size() > kMostPieces) {
    return fields.wrong("vocab", fmt::format("has {} pieces", vocab.size()));
  }
  ASSIGN_OR_RETURN(model->byte_fallback_, fields.boolean_or("byte_fallback", false));
  if (fields.find("unk_id")) {
    ASSIGN_OR_RETURN(const uint32_t unk,
                     fields.number("unk_id", static_cast<uint32_t>(vocab.size() - 1)));
    model->unk_ = static_cast<TokenId>(unk);
  }
  model->vocabulary_.reserve(vocab.size(), vocab.size());
  model->scores_.reserve(vocab.size());
  size_t bytes = 0;
  for (size_t i = 0; i < vocab.size(); ++i) {
    const JsonDoc::Value piece = vocab.item(i);
    if (!piece.is(Kind::Array) || piece.size() != 2 || !piece.item(0).is(Kind::String) ||
        !piece.item(1).is_number()) {
      return invalid_argument("{}.vocab[{}]: is not [text, score]", fields.path(), i);
    }
    bytes += piece.item(0).string().size();
    model->scores_.push_back(piece.item(1).real());
    model->vocabulary_.add_last_wins(piece.item(0).string(), static_cast<TokenId>(i));
  }
  model->least_ = *std::min_element(model->scores_.begin(), model->scores_.end());
  model->edges_ = PairTable(bytes);
  model->nodes_.push_back(kNoToken);
  for (size_t i = 0; i < vocab.size(); ++i) {
    model->add_to_trie(vocab.item(i).item(0).string(), static_cast<TokenId>(i));
  }
  for (int b = 0; b < 256; ++b) {
    model->fallbacks_[b] = model->vocabulary_.find(byte_token(static_cast<unsigned char>(b)));
  }
  return std::unique_ptr<TokenModel>(std::move(model));
}

void Unigram::add_to_trie(std::string_view piece, TokenId id) {
  if (piece.empty()) return;
  uint32_t node = 0;
  for (const char c : piece) {
    const auto byte = static_cast<unsigned char>(c);
    if (const auto* edge = edges_.find(node, byte)) {
      node = edge->id;
      continue;
    }
    const auto fresh = static_cast<uint32_t>(nodes_.size());
    edges_.put(node, byte, {0, fresh});
    nodes_.push_back(kNoToken);
    node = fresh;
  }
  nodes_[node] = id;
}

Status Unigram::encode(std::string_view word, WordCache& cache, std::vector<TokenId>& out) const {
  const bool cached = word.size() <= WordCache::kLongest;
  if (cached) {
    if (const auto* hit = cache.find_long(word)) {
      out.insert(out.end(), hit->begin(), hit->end());
      return {};
    }
  }
  const size_t first = out.size();
  RETURN_IF_ERROR(segment(word, out));
  if (cached && !word.empty()) cache.put_long(word, out.data() + first, out.size() - first);
  return {};
}

Status Unigram::segment(std::string_view word, std::vector<TokenId>& out) const {
  constexpr size_t kNowhere = ~size_t{0};
  struct Best {
    double score = 0;
    size_t begin = kNowhere;
    TokenId id = kNoToken;
  };
  std::vector<Best> best(word.size() + 1);  // of what ends here
  const auto offer = [&](size_t begin, size_t end, double score, TokenId id) {
    const double sum = score + best[begin].score;
    Best& there = best[end];
    if (there.begin == kNowhere || sum > there.score) there = {sum, begin, id};
  };
  for (size_t at = 0; at < word.size();) {
    const size_t length = utf8::length_of(word[at]);
    bool single = false;
    uint32_t node = 0;
    for (size_t i = at; i < word.size(); ++i) {
      const auto* edge = edges_.find(node, static_cast<unsigned char>(word[i]));
      if (edge == nullptr) break;
      node = edge->id;
      if (nodes_[node] == kNoToken) continue;
      offer(at, i + 1, scores_[nodes_[node]], nodes_[node]);
      single = single || i + 1 - at == length;
    }
    if (!single) {
      if (!unk_) {
        return error(Code::FailedPrecondition, "{} has no token, and the model has no unk_id",
                     quoted(word.substr(at, length)));
      }
      offer(at, at + length, least_ - kUnknownPenalty, *unk_);
    }
    at += length;
  }
  // Neighbouring unknown characters are one piece.
  std::vector<std::string_view> pieces;
  size_t unknown_end = 0;
  for (size_t end = word.size(); end > 0;) {
    const Best& last = best[end];
    const bool unknown = unk_ && last.id == *unk_;
    if (unknown && unknown_end == end) {
      const std::string_view joined = pieces.back();
      pieces.back() = word.substr(last.begin, joined.size() + end - last.begin);
    } else {
      pieces.push_back(word.substr(last.begin, end - last.begin));
    }
    unknown_end = unknown ? last.begin : 0;
    end = last.begin;
  }
  std::reverse(pieces.begin(), pieces.end());
  for (const std::string_view piece : pieces) RETURN_IF_ERROR(put(piece, out));
  return {};
}

Status Unigram::put(std::string_view piece, std::vector<TokenId>& out) const {
  if (const TokenId id = vocabulary_.find(piece); id != kNoToken) {
    out.push_back(id);
    return {};
  }
  if (byte_fallback_) {
    const bool all = std::all_of(piece.begin(), piece.end(), [this](char b) {
      return fallbacks_[static_cast<unsigned char>(b)] != kNoToken;
    });
    if (all) {
      for (const char b : piece) out.push_back(fallbacks_[static_cast<unsigned char>(b)]);
      return {};
    }
  }
  out.push_back(*unk_);  // only unknown pieces are not in the vocabulary
  return {};
}

}  // namespace sluice
