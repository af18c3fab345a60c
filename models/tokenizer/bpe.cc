#include "models/tokenizer/bpe.h"

#include "models/tokenizer/byte_alphabet.h"
#include "models/tokenizer/utf8.h"

#include <algorithm>
#include <queue>

namespace sluice {
namespace {

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581
constexpr size_t kShortWord = 48;
constexpr uint32_t kNoRank = ~uint32_t{0};

/// Where the next segment begins: before a run of space marks.
size_t segment_end(std::string_view word, size_t begin) {
  for (size_t at = begin + 1; (at = word.find(kSpaceMark, at)) != std::string_view::npos;) {
    const bool inside = at - begin >= kSpaceMark.size() &&
                        word.substr(at - kSpaceMark.size(), kSpaceMark.size()) == kSpaceMark;
    if (!inside) return at;
    at += kSpaceMark.size();
  }
  return word.size();
}

}  // namespace

Status Bpe::encode(std::string_view word, WordCache& cache, std::vector<TokenId>& out) const {
  if (word.empty()) return {};
  if (ignore_merges_) {
    if (const TokenId id = vocabulary_.find(word); id != kNoToken) {
      out.push_back(id);
      return {};
    }
  }
  if (!splits_at_space_) return encode_segment(word, cache, out);
  for (size_t at = 0; at < word.size();) {
    const size_t end = segment_end(word, at);
    RETURN_IF_ERROR(encode_segment(word.substr(at, end - at), cache, out));
    at = end;
  }
  return {};
}

Status Bpe::encode_segment(std::string_view word, WordCache& cache,
                           std::vector<TokenId>& out) const {
  const bool is_short = word.size() <= WordCache::kShort;
  const bool is_long = !is_short && word.size() <= WordCache::kLongest;
  WordCache::Key key{};
  if (is_short) {
    key = WordCache::key_of(word, word.data() + word.size());
    if (const auto* hit = cache.find(key)) {
      out.insert(out.end(), hit->ids.begin(), hit->ids.begin() + hit->count);
      return {};
    }
  } else if (is_long) {
    if (const auto* hit = cache.find_long(word)) {
      out.insert(out.end(), hit->begin(), hit->end());
      return {};
    }
  }
  const size_t first = out.size();
  RETURN_IF_ERROR(append_symbols(word, out));
  merge(out, first);
  if (is_short) cache.put(key, out.data() + first, out.size() - first);
  if (is_long) cache.put_long(word, out.data() + first, out.size() - first);
  return {};
}

void Bpe::encode_bytes(std::string_view word, const char* text_end, WordCache& cache,
                       std::vector<TokenId>& out) const {
  const bool is_short = word.size() <= WordCache::kShort;
  const bool is_long = !is_short && word.size() <= WordCache::kLongest;
  WordCache::Key key{};
  if (is_short) {
    key = WordCache::key_of(word, text_end);
    if (const auto* hit = cache.find(key)) {
      // Most words are one token.
      out.push_back(hit->ids[0]);
      if (hit->count > 1) {
        out.insert(out.end(), hit->ids.begin() + 1, hit->ids.begin() + hit->count);
      }
      return;
    }
  } else if (is_long) {
    if (const auto* hit = cache.find_long(word)) {
      out.insert(out.end(), hit->begin(), hit->end());
      return;
    }
  }
  const size_t first = out.size();
  const TokenId whole = ignore_merges_ ? vocabulary_.find(byte_alphabet::encode(word)) : kNoToken;
  if (whole != kNoToken) {
    out.push_back(whole);
  } else {
    for (const char c : word) out.push_back(bytes_[static_cast<unsigned char>(c)]);
    merge(out, first);
  }
  if (is_short) cache.put(key, out.data() + first, out.size() - first);
  if (is_long) cache.put_long(word, out.data() + first, out.size() - first);
}

Status Bpe::append_symbols(std::string_view word, std::vector<TokenId>& out) const {
  size_t unknown = 0;  // unknown tokens that are not written yet: fused ones count once
  const auto flush = [&] {
    out.insert(out.end(), unknown, unk_);
    unknown = 0;
  };
  std::string decorated;
  for (size_t at = 0; at < word.size();) {
    const size_t length = utf8::length_of(word[at]);
    std::string_view c = word.substr(at, length);
    if (!prefix_.empty() || !suffix_.empty()) {
      decorated =
          (at > 0 ? prefix_ : "") + std::string(c) + (at + length == word.size() ? suffix_ : "");
      c = decorated;
    }
    at += length;
    if (const TokenId id = vocabulary_.find(c); id != kNoToken) {
      flush();
      out.push_back(id);
      continue;
    }
    if (byte_fallback_) {
      const bool all = std::all_of(c.begin(), c.end(), [this](char b) {
        return fallbacks_[static_cast<unsigned char>(b)] != kNoToken;
      });
      if (all) {
        // Unknown tokens that wait stay behind these, as in the reference implementation.
        for (const char b : c) out.push_back(fallbacks_[static_cast<unsigned char>(b)]);
        continue;
      }
    }
    if (!unk_token_) continue;
    if (unk_ == kNoToken) {
      return error(Code::FailedPrecondition,
                   "{} has no token, and the unknown token {} is not in the vocabulary", quoted(c),
                   quoted(*unk_token_));
    }
    if (unknown > 0 && fuse_unk_) continue;
    flush();
    unknown = 1;
  }
  flush();
  return {};
}

void Bpe::merge(std::vector<TokenId>& symbols, size_t first) const {
  const size_t count = symbols.size() - first;
  if (count < 2) return;
  TokenId* const begin = symbols.data() + first;
  const bool few = count <= kShortWord && !unk_merges_;
  symbols.resize(first + (few ? merge_short(begin, count) : merge_long(begin, count)));
}

size_t Bpe::merge_short(TokenId* symbols, size_t count) const {
  std::array<PairTable::Value, kShortWord> pairs;
  const auto look_up = [&](size_t i) {
    const auto* found =
        merges_.find(static_cast<uint32_t>(symbols[i]), static_cast<uint32_t>(symbols[i + 1]));
    pairs[i] = found != nullptr ? *found : PairTable::Value{kNoRank, 0};
  };
  for (size_t i = 0; i + 1 < count; ++i) look_up(i);
  while (count > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < count; ++i) {
      if (pairs[i].rank < pairs[best].rank) best = i;
    }
    if (pairs[best].rank == kNoRank) break;
    symbols[best] = static_cast<TokenId>(pairs[best].id);
    std::copy(symbols + best + 2, symbols + count, symbols + best + 1);
    if (best + 2 < count) {
      std::copy(pairs.begin() + best + 1, pairs.begin() + count - 1, pairs.begin() + best);
    }
    --count;
    if (best > 0) look_up(best - 1);
    if (best + 1 < count) look_up(best);
  }
  return count;
}

size_t Bpe::merge_long(TokenId* symbols, size_t count) const {
  struct Candidate {
    uint32_t rank;
    uint32_t id;
    size_t at;
    bool operator<(const Candidate& other) const {  // the least is on top
      return rank != other.rank ? rank > other.rank : at > other.at;
    }
  };
  struct Link {
    size_t before;
    size_t after;
    bool gone;
  };
  std::vector<Link> links(count);
  for (size_t i = 0; i < count; ++i) links[i] = {i - 1, i + 1, false};
  std::priority_queue<Candidate> queue;
  const auto offer = [&](size_t left, size_t right) {
    const auto* found =
        merges_.find(static_cast<uint32_t>(symbols[left]), static_cast<uint32_t>(symbols[right]));
    if (found != nullptr) queue.push({found->rank, found->id, left});
  };
  for (size_t i = 0; i + 1 < count; ++i) offer(i, i + 1);
  while (!queue.empty()) {
    const Candidate top = queue.top();
    queue.pop();
    Link& left = links[top.at];
    if (left.gone || left.after == count) continue;
    const size_t right = left.after;
    // A stale entry is known by its result, as in the reference implementation.
    const auto* now =
        merges_.find(static_cast<uint32_t>(symbols[top.at]), static_cast<uint32_t>(symbols[right]));
    if (now == nullptr || now->id != top.id) continue;
    symbols[top.at] = static_cast<TokenId>(top.id);
    links[right].gone = true;
    left.after = links[right].after;
    if (left.after < count) links[left.after].before = top.at;
    if (top.at > 0) offer(left.before, top.at);
    if (left.after < count) offer(top.at, left.after);
  }
  size_t kept = 0;
  for (size_t i = 0; i < count; i = links[i].after) symbols[kept++] = symbols[i];
  return kept;
}

}  // namespace sluice
