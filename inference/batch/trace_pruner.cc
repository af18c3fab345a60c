#include "inference/batch/trace_pruner.h"

#include <algorithm>
#include <map>

namespace sluice {
namespace {

constexpr int32_t kGram = 3;

using Grams = std::map<std::vector<int64_t>, int64_t>;

Grams grams_of(std::span<const int64_t> tokens, int32_t n) {
  Grams grams;
  const auto size = static_cast<size_t>(n);
  for (size_t at = 0; at + size <= tokens.size(); ++at) {
    const auto gram = tokens.subspan(at, size);
    ++grams[{gram.begin(), gram.end()}];
  }
  return grams;
}

}  // namespace

double ngram_similarity(std::span<const int64_t> one, std::span<const int64_t> other, int32_t n) {
  const Grams a = grams_of(one, n);
  const Grams b = grams_of(other, n);
  if (a.empty() || b.empty()) return std::ranges::equal(one, other) ? 1 : 0;
  int64_t both = 0;
  int64_t either = 0;
  for (const auto& [gram, count] : a) {
    const auto found = b.find(gram);
    const int64_t theirs = found == b.end() ? 0 : found->second;
    both += std::min(count, theirs);
    either += std::max(count, theirs);
  }
  for (const auto& [gram, count] : b) either += a.contains(gram) ? 0 : count;
  return static_cast<double>(both) / static_cast<double>(either);
}

Status check(const PruneOptions& options) {
  if (options.after < 0) return invalid_argument("pruned after {} tokens", options.after);
  if (!(options.similarity > 0 && options.similarity <= 1)) {
    return invalid_argument("a similarity must lie in (0, 1], not {}", options.similarity);
  }
  return {};
}

TracePruner::TracePruner(const PruneOptions& options, int32_t samples)
    : options_(options), traces_(static_cast<size_t>(samples)) {}

bool TracePruner::ready(const Trace& trace) const {
  return trace.ended || std::ssize(trace.tokens) >= options_.after;
}

std::vector<TracePruner::Duplicate> TracePruner::judge_ready() {
  std::vector<Duplicate> found;
  for (; next_ < std::ssize(traces_); ++next_) {
    const Trace& trace = traces_[static_cast<size_t>(next_)];
    if (!ready(trace)) break;
    double most = 0;
    int32_t like = -1;
    for (const int32_t first : clusters_) {
      const auto& other = traces_[static_cast<size_t>(first)].tokens;
      const double alike = options_.judge ? options_.judge(other, trace.tokens)
                                          : ngram_similarity(other, trace.tokens, kGram);
      if (alike < options_.similarity || alike <= most) continue;
      most = alike;
      like = first;
    }
    const bool whole = std::ssize(trace.tokens) < options_.after;
    if (like < 0) {
      clusters_.push_back(next_);
    } else if (!whole) {
      found.push_back({next_, like});
    }
  }
  return found;
}

std::vector<TracePruner::Duplicate> TracePruner::add(int32_t sample, int64_t token) {
  Trace& trace = traces_.at(static_cast<size_t>(sample));
  if (ready(trace)) return {};
  trace.tokens.push_back(token);
  return judge_ready();
}

std::vector<TracePruner::Duplicate> TracePruner::end(int32_t sample) {
  traces_.at(static_cast<size_t>(sample)).ended = true;
  return judge_ready();
}

}  // namespace sluice
