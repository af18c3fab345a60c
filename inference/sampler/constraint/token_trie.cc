#include "inference/sampler/constraint/token_trie.h"

#include <algorithm>
#include <numeric>

namespace sluice {
namespace {
/// Longer tokens (runs of spaces) exist; beyond this a token is never allowed.
constexpr size_t kMaxTokenBytes = 1024;
}  // namespace

TokenTrie::TokenTrie(std::vector<std::string> bytes) : bytes_(std::move(bytes)) {
  for (std::string& text : bytes_) {
    if (text.size() > kMaxTokenBytes) text.clear();
  }
  std::vector<uint32_t> order(bytes_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::erase_if(order, [&](uint32_t id) { return bytes_[id].empty(); });
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return bytes_[a] < bytes_[b] || (bytes_[a] == bytes_[b] && a < b);
  });
  std::vector<uint32_t> path;  // the node of each byte of the token before
  std::string_view before;
  const auto leave = [&](size_t depth) {
    for (; path.size() > depth; path.pop_back()) {
      nodes_[path.back()].skip = static_cast<uint32_t>(nodes_.size());
    }
  };
  for (const uint32_t id : order) {
    const std::string& text = bytes_[id];
    const auto common = static_cast<size_t>(
        std::mismatch(before.begin(), before.end(), text.begin(), text.end()).first -
        before.begin());
    leave(common);
    for (size_t i = common; i < text.size(); ++i) {
      path.push_back(static_cast<uint32_t>(nodes_.size()));
      const auto at = static_cast<uint32_t>(tokens_.size());
      nodes_.push_back({0, at, at, static_cast<uint16_t>(i), static_cast<unsigned char>(text[i])});
    }
    tokens_.push_back(id);
    nodes_[path.back()].last_token = static_cast<uint32_t>(tokens_.size());
    before = text;
    depth_ = std::max(depth_, text.size());
  }
  leave(0);
}

TokenTrie TokenTrie::of(const Tokenizer& tokenizer, int64_t vocabulary) {
  std::vector<std::string> bytes(static_cast<size_t>(vocabulary));
  const size_t end = std::min(bytes.size(), tokenizer.vocab_size());
  for (size_t id = 0; id < end; ++id) {
    const auto token = static_cast<TokenId>(id);
    if (!tokenizer.is_special(token)) bytes[id] = tokenizer.bytes_behind(token);
  }
  return TokenTrie(std::move(bytes));
}

}  // namespace sluice
