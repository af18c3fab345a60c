#include "inference/sampler/stop_matcher.h"

namespace sluice {

StopMatcher::StopMatcher(std::span<const std::string> stops) : nodes_(1) {
  for (const std::string& stop : stops) {
    add(stop, static_cast<int32_t>(lengths_.size()));
    lengths_.push_back(stop.size());
  }
  link();
}

uint32_t StopMatcher::child(uint32_t node, unsigned char byte) const noexcept {
  uint32_t at = nodes_[node].first_child;
  while (at != 0 && nodes_[at].byte != byte) at = nodes_[at].sibling;
  return at;
}

void StopMatcher::add(std::string_view stop, int32_t index) {
  uint32_t node = kStart;
  for (const char c : stop) {
    const auto byte = static_cast<unsigned char>(c);
    uint32_t next = child(node, byte);
    if (next == 0) {
      next = static_cast<uint32_t>(nodes_.size());
      Node made;
      made.sibling = nodes_[node].first_child;
      made.depth = nodes_[node].depth + 1;
      made.byte = byte;
      nodes_.push_back(made);
      nodes_[node].first_child = next;
    }
    node = next;
  }
  if (nodes_[node].match == kNone) nodes_[node].match = index;
}

void StopMatcher::link() {
  std::vector<uint32_t> queue = {kStart};  // by depth
  for (size_t i = 0; i < queue.size(); ++i) {
    const uint32_t node = queue[i];
    for (uint32_t at = nodes_[node].first_child; at != 0; at = nodes_[at].sibling) {
      nodes_[at].fail = node == kStart ? kStart : step(nodes_[node].fail, nodes_[at].byte);
      if (nodes_[at].match == kNone) nodes_[at].match = nodes_[nodes_[at].fail].match;
      queue.push_back(at);
    }
  }
}

uint32_t StopMatcher::step(uint32_t node, unsigned char byte) const noexcept {
  for (;;) {
    const uint32_t next = child(node, byte);
    if (next != 0 || node == kStart) return next;
    node = nodes_[node].fail;
  }
}

int32_t StopFilter::put(std::string_view text, bool may_stop, bool include, std::string& out) {
  if (matcher_->empty()) {
    out += text;
    return StopMatcher::kNone;
  }
  for (size_t i = 0; i < text.size(); ++i) {
    node_ = matcher_->step(node_, static_cast<unsigned char>(text[i]));
    const int32_t stop = matcher_->match(node_);
    if (stop == StopMatcher::kNone || !may_stop) continue;
    held_ += text.substr(0, i + 1);
    if (!include) held_.resize(held_.size() - matcher_->length(stop));
    flush(out);
    return stop;
  }
  held_ += text;
  const size_t certain = held_.size() - matcher_->held(node_);
  out.append(held_, 0, certain);
  held_.erase(0, certain);
  return StopMatcher::kNone;
}

void StopFilter::flush(std::string& out) {
  out += held_;
  held_.clear();
  node_ = StopMatcher::kStart;
}

}  // namespace sluice
