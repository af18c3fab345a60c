#include "envs/text/bleu.h"

#include "dataflow/base/result.h"

#include <algorithm>
#include <cmath>

namespace sluice {
namespace {

// Number of the n-gram that begins at a place: equal n-grams, in whatever sequence, have equal
// numbers. Those of n tokens come from those of n - 1 and the token that is added, so that they are
// exact and no hash can collide.
struct Numbered {
  std::vector<int64_t> ids;  // all sequences behind each other
  std::vector<size_t> ends;
  std::vector<int64_t> gram;  // number of the (n-1)-gram at a place
};

struct Pair {
  int64_t shorter;
  int64_t token;
  size_t place;
};

// Makes `gram` the numbers of the n-grams; returns how many there are. A place where none begins
// gets -1.
size_t grow(Numbered& all, size_t n, std::vector<Pair>& pairs) {
  pairs.clear();
  size_t begin = 0;
  for (const size_t end : all.ends) {
    for (size_t i = begin; i + n <= end; ++i) pairs.push_back({all.gram[i], all.ids[i + n - 1], i});
    begin = end;
  }
  std::fill(all.gram.begin(), all.gram.end(), -1);
  std::sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) {
    return a.shorter != b.shorter ? a.shorter < b.shorter : a.token < b.token;
  });
  size_t count = 0;
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (i == 0 || pairs[i].shorter != pairs[i - 1].shorter ||
        pairs[i].token != pairs[i - 1].token) {
      ++count;
    }
    all.gram[pairs[i].place] = static_cast<int64_t>(count) - 1;
  }
  return count;
}

// Candidate n-grams that some reference holds as often.
int64_t clipped_matches(const Numbered& all, size_t grams) {
  std::vector<int64_t> wanted(grams);
  std::vector<int64_t> allowed(grams);
  std::vector<int64_t> here(grams);
  const auto count = [&all](size_t begin, size_t end, std::vector<int64_t>& counts) {
    for (size_t i = begin; i < end; ++i) {
      if (all.gram[i] >= 0) ++counts[static_cast<size_t>(all.gram[i])];
    }
  };
  count(0, all.ends[0], wanted);
  for (size_t r = 1; r < all.ends.size(); ++r) {
    std::fill(here.begin(), here.end(), 0);
    count(all.ends[r - 1], all.ends[r], here);
    for (size_t g = 0; g < grams; ++g) allowed[g] = std::max(allowed[g], here[g]);
  }
  int64_t matches = 0;
  for (size_t g = 0; g < grams; ++g) matches += std::min(wanted[g], allowed[g]);
  return matches;
}

double brevity_penalty(size_t length, std::span<const std::span<const int64_t>> references) {
  size_t closest = references[0].size();
  const auto distance = [length](size_t other) {
    return other > length ? other - length : length - other;
  };
  for (const auto& reference : references) {
    const size_t size = reference.size();
    if (distance(size) < distance(closest) ||
        (distance(size) == distance(closest) && size < closest)) {
      closest = size;
    }
  }
  if (length > closest) return 1;
  return std::exp(1 - static_cast<double>(closest) / static_cast<double>(length));
}

}  // namespace

double sentence_bleu(std::span<const int64_t> candidate,
                     std::span<const std::span<const int64_t>> references,
                     const BleuOptions& options) {
  if (candidate.empty() || references.empty() || options.max_n < 1) return 0;
  Numbered all;
  all.ids.assign(candidate.begin(), candidate.end());
  all.ends.push_back(all.ids.size());
  for (const auto& reference : references) {
    all.ids.insert(all.ids.end(), reference.begin(), reference.end());
    all.ends.push_back(all.ids.size());
  }
  all.gram.assign(all.ids.size(), 0);
  std::vector<Pair> pairs;
  pairs.reserve(all.ids.size());

  double log_precision = 0;
  int zeros = 0;
  for (int n = 1; n <= options.max_n; ++n) {
    const size_t grams = grow(all, static_cast<size_t>(n), pairs);
    auto matches = static_cast<double>(clipped_matches(all, grams));
    // A candidate shorter than n has no n-gram; as everywhere, that counts as one that is wrong.
    auto total = std::max(1.0, static_cast<double>(candidate.size()) - n + 1);
    if (n == 1 && matches == 0) return 0;
    if (options.smoothing == BleuSmoothing::AddOne && n > 1) {
      matches += 1;
      total += 1;
    }
    if (matches == 0) {
      if (options.smoothing == BleuSmoothing::None) return 0;
      matches = options.smoothing == BleuSmoothing::Floor ? options.floor : std::ldexp(1, -++zeros);
    }
    log_precision += std::log(matches / total);
  }
  return brevity_penalty(candidate.size(), references) * std::exp(log_precision / options.max_n);
}

std::span<const int64_t> IdRows::row(size_t i) const {
  const int64_t begin = i == 0 ? 0 : ends[i - 1];
  SLUICE_CHECK(begin >= 0 && begin <= ends[i] && ends[i] <= static_cast<int64_t>(ids.size()))
      << "row " << i << " is [" << begin << ", " << ends[i] << ") of " << ids.size() << " ids";
  return ids.subspan(static_cast<size_t>(begin), static_cast<size_t>(ends[i] - begin));
}

std::vector<double> sentence_bleu_rows(const IdRows& candidates, const IdRows& references,
                                       const BleuOptions& options) {
  std::vector<double> out(candidates.rows());
  if (out.empty()) return out;
  SLUICE_CHECK(references.rows() % candidates.rows() == 0)
      << references.rows() << " references for " << candidates.rows() << " candidates";
  const size_t each = references.rows() / candidates.rows();
  std::vector<std::span<const int64_t>> row(each);
  for (size_t i = 0; i < out.size(); ++i) {
    for (size_t k = 0; k < each; ++k) row[k] = references.row(i * each + k);
    out[i] = sentence_bleu(candidates.row(i), row, options);
  }
  return out;
}

}  // namespace sluice
