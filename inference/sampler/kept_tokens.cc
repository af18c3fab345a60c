#include "inference/sampler/kept_tokens.h"

#include "inference/sampler/sampling_kernels.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace sluice {
namespace {

/// Whether a comes before b: greater logit, then lower id.
bool before(const Candidate& a, const Candidate& b) {
  return a.x > b.x || (a.x == b.x && a.id < b.id);
}

}  // namespace

bool KeptTokens::cuts(const SamplingParams& params, size_t n) noexcept {
  return (params.top_k > 0 && static_cast<size_t>(params.top_k) < n) || params.top_p < 1 ||
         params.min_p > 0;
}

std::span<const Candidate> KeptTokens::cut(const Row& row, const SamplingParams& params) {
  const bool by_rank = params.top_k > 0 && static_cast<size_t>(params.top_k) < row.x.size();
  // Less likely than min_p times the most likely; min-p only shortens what the others keep.
  const float least = params.min_p > 0 ? row.max + std::log(params.min_p) : -INFINITY;
  if (by_rank) {
    gather_top(row, static_cast<size_t>(params.top_k));
    if (params.top_p < 1) cut_nucleus(static_cast<double>(params.top_p) * mass());
  } else if (params.top_p < 1) {
    gather_nucleus(row, params.top_p);
  } else {
    gather_from(row, least);
  }
  if (params.min_p > 0) std::erase_if(kept_, [&](const Candidate& c) { return c.x < least; });
  return kept_;
}

std::span<const Candidate> KeptTokens::greatest(const Row& row, size_t k) {
  gather_top(row, std::min(k, row.x.size()));
  std::sort(kept_.begin(), kept_.end(), before);
  return kept_;
}

void KeptTokens::gather_top(const Row& row, size_t k) {
  float least = -INFINITY;
  if (k <= row.block_max.size() && k > 0) {
    // k blocks reach this far, so k tokens do.
    floats_.assign(row.block_max.begin(), row.block_max.end());
    const auto kth = floats_.begin() + static_cast<std::ptrdiff_t>(k - 1);
    std::nth_element(floats_.begin(), kth, floats_.end(), std::greater<>());
    least = *kth;
  }
  gather_from(row, least);
  if (kept_.size() <= k) return;
  work_ = kept_;
  const auto kth = work_.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(work_.begin(), kth, work_.end(), before);
  drop_after(*kth);
}

void KeptTokens::gather_from(const Row& row, float least) {
  constexpr auto kBlock = static_cast<size_t>(SamplingKernels::kBlock);
  kept_.clear();
  floats_.clear();
  for (size_t block = 0; block < row.block_max.size(); ++block) {
    if (row.block_max[block] < least || row.block_max[block] == -INFINITY) continue;
    const size_t end = std::min((block + 1) * kBlock, row.x.size());
    for (size_t i = block * kBlock; i < end; ++i) {
      if (row.x[i] < least || row.x[i] == -INFINITY) continue;
      kept_.push_back({row.x[i], 0, static_cast<int32_t>(i)});
      floats_.push_back(row.x[i]);
    }
  }
  sampling_kernels(active_isa())
      .exponentials(floats_.data(), static_cast<int64_t>(floats_.size()), row.max, floats_.data());
  for (size_t i = 0; i < kept_.size(); ++i) kept_[i].weight = floats_[i];
}

void KeptTokens::gather_nucleus(const Row& row, float p) {
  floats_.resize(row.block_max.size());
  sampling_kernels(active_isa())
      .block_sums(row.x.data(), static_cast<int64_t>(row.x.size()), row.max, floats_.data());
  double total = 0;
  for (const float sum : floats_) total += static_cast<double>(sum);
  const double target = static_cast<double>(p) * total;
  // Most rows have their nucleus within e^8 of the greatest.
  for (const float reach : {8.0F, 16.0F}) {
    gather_from(row, row.max - reach);
    if (mass() >= target) return cut_nucleus(target);
  }
  gather_from(row, -INFINITY);
  cut_nucleus(target);
}

double KeptTokens::narrow(double target) {
  // Buckets by how far below the greatest: one pass finds the bucket that holds the cut.
  constexpr size_t kBuckets = 256;
  constexpr float kFar = 100;  // nothing weighs anything there
  float greatest = -INFINITY, least = INFINITY;
  for (const Candidate& c : kept_) {
    greatest = std::max(greatest, c.x);
    least = std::min(least, c.x);
  }
  const float spread = std::clamp(greatest - least, 1e-6F, kFar);
  const float scale = static_cast<float>(kBuckets - 1) / spread;
  // Monotone in x, however it is rounded.
  const auto bucket = [&](const Candidate& c) {
    return static_cast<size_t>(std::min(greatest - c.x, spread) * scale);
  };
  std::array<double, kBuckets + 1> weights{};
  size_t last = 0;
  for (const Candidate& c : kept_) {
    const size_t at = bucket(c);
    weights[at] += static_cast<double>(c.weight);
    last = std::max(last, at);
  }
  double taken = 0;
  size_t at = 0;
  while (at < last && taken + weights[at] < target) taken += weights[at++];
  work_.clear();
  for (const Candidate& c : kept_) {
    if (bucket(c) == at) work_.push_back(c);
  }
  return taken;
}

void KeptTokens::cut_nucleus(double target) {
  constexpr std::ptrdiff_t kFew = 32;
  double taken = narrow(target);
  auto first = work_.begin(), last = work_.end();
  // The cut lies in [first, last); what comes before weighs `taken`.
  while (last - first > kFew) {
    const auto middle = first + (last - first) / 2;
    std::nth_element(first, middle, last, before);
    double upper = 0;
    for (auto it = first; it != middle; ++it) upper += static_cast<double>(it->weight);
    if (taken + upper >= target) {
      last = middle;
    } else {
      taken += upper;
      first = middle;
    }
  }
  std::sort(first, last, before);
  auto it = first;
  for (; it + 1 != last; ++it) {
    taken += static_cast<double>(it->weight);
    if (taken >= target) break;
  }
  drop_after(*it);
}

void KeptTokens::drop_after(const Candidate& last) {
  const Candidate cut = last;  // it may stand in a buffer
  std::erase_if(kept_, [&](const Candidate& c) { return before(cut, c); });
}

double KeptTokens::mass() const {
  double sum = 0;
  for (const Candidate& c : kept_) sum += static_cast<double>(c.weight);
  return sum;
}

}  // namespace sluice
