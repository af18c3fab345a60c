#include "inference/speculation/suffix_drafter.h"

#include <algorithm>

namespace sluice {

SuffixDrafter::SuffixDrafter(Options options) : options_(options), nodes_(1) {}

uint32_t SuffixDrafter::child(uint32_t node, int64_t token) const {
  const auto found = children_.find(key(node, token));
  return found == children_.end() ? 0 : found->second;
}

uint32_t SuffixDrafter::make_child(uint32_t node, int64_t token) {
  uint32_t made = 0;
  if (free_.empty()) {
    made = static_cast<uint32_t>(nodes_.size());
    nodes_.emplace_back();
  } else {
    made = free_.back();
    free_.pop_back();
  }
  const uint32_t first = nodes_[node].first_child;
  nodes_[made] = {token, node, 0, first, 0, 0};
  if (first != 0) nodes_[first].before = made;
  nodes_[node].first_child = made;
  children_.emplace(key(node, token), made);
  return made;
}

void SuffixDrafter::remove(uint32_t node) {
  const Node gone = nodes_[node];
  if (gone.before != 0) {
    nodes_[gone.before].next = gone.next;
  } else {
    nodes_[gone.parent].first_child = gone.next;
  }
  if (gone.next != 0) nodes_[gone.next].before = gone.before;
  children_.erase(key(gone.parent, gone.token));
  free_.push_back(node);
}

void SuffixDrafter::add(std::span<const int64_t> tokens) {
  if (tokens.size() > options_.max_tokens) tokens = tokens.last(options_.max_tokens);
  while (!rollouts_.empty() && tokens_ + tokens.size() > options_.max_tokens) forget_oldest();
  if (tokens.empty()) return;
  const auto depth = static_cast<size_t>(options_.depth);
  for (size_t begin = 0; begin < tokens.size(); ++begin) {
    uint32_t node = kRoot;
    for (size_t i = begin; i < std::min(tokens.size(), begin + depth); ++i) {
      const uint32_t found = child(node, tokens[i]);
      node = found != 0 ? found : make_child(node, tokens[i]);
      ++nodes_[node].count;
    }
  }
  rollouts_.emplace_back(tokens.begin(), tokens.end());
  tokens_ += tokens.size();
}

void SuffixDrafter::forget_oldest() {
  const std::vector<int64_t> tokens = std::move(rollouts_.front());
  rollouts_.pop_front();
  tokens_ -= tokens.size();
  const auto depth = static_cast<size_t>(options_.depth);
  std::vector<uint32_t> path;
  for (size_t begin = 0; begin < tokens.size(); ++begin) {
    path.clear();
    uint32_t node = kRoot;
    for (size_t i = begin; i < std::min(tokens.size(), begin + depth); ++i) {
      node = child(node, tokens[i]);
      path.push_back(node);
    }
    // From the leaf up: a node goes after all below it, which came no more often than it did.
    for (auto at = path.rbegin(); at != path.rend(); ++at) {
      if (--nodes_[*at].count == 0) remove(*at);
    }
  }
}

std::pair<uint32_t, int64_t> SuffixDrafter::longest_end(std::span<const int64_t> tokens) const {
  const auto size = static_cast<int64_t>(tokens.size());
  for (int64_t length = std::min(options_.depth - 1, size); length >= options_.shortest; --length) {
    uint32_t node = kRoot;
    for (const int64_t token : tokens.last(static_cast<size_t>(length))) {
      node = child(node, token);
      if (node == 0) break;
    }
    if (node != 0 && nodes_[node].first_child != 0) return {node, length};
  }
  return {kRoot, 0};
}

void SuffixDrafter::guess(std::span<const int64_t> tokens, int64_t most,
                          std::vector<int64_t>& out) const {
  std::vector<int64_t> text(
      tokens.end() - std::min<std::ptrdiff_t>(options_.depth, std::ssize(tokens)), tokens.end());
  for (int64_t i = 0; i < most; ++i) {
    const auto [node, length] = longest_end(text);
    if (length == 0) return;
    uint32_t best = nodes_[node].first_child;
    uint64_t followed = 0;
    for (uint32_t at = best; at != 0; at = nodes_[at].next) {
      followed += nodes_[at].count;
      const bool more = nodes_[at].count > nodes_[best].count;
      const bool equal = nodes_[at].count == nodes_[best].count;
      if (more || (equal && nodes_[at].token < nodes_[best].token)) best = at;
    }
    const double share = static_cast<double>(nodes_[best].count) /
                         static_cast<double>(std::max<uint64_t>(1, followed));
    if (share < options_.least_share) return;
    out.push_back(nodes_[best].token);
    text.push_back(nodes_[best].token);
  }
}

}  // namespace sluice
