#include "trainer/lm/packing.h"

#include <algorithm>
#include <numeric>

namespace sluice {
namespace {

struct Bin {
  int64_t size = 0;
  std::vector<size_t> items;

  void add(size_t item, int64_t amount) {
    items.push_back(item);
    size += amount;
  }
};

/// Into the fullest bin that still takes the item, or a new one.
std::vector<Bin> best_fit(std::span<const int64_t> sizes, std::span<const size_t> order,
                          int64_t budget) {
  std::vector<Bin> bins;
  for (const size_t item : order) {
    Bin* best = nullptr;
    for (Bin& bin : bins) {
      if (bin.size + sizes[item] > budget) continue;
      if (best == nullptr || bin.size > best->size) best = &bin;
    }
    if (best == nullptr) best = &bins.emplace_back();
    best->add(item, sizes[item]);
  }
  return bins;
}

/// Always into the emptiest of `count` bins.
std::vector<Bin> evenly(std::span<const int64_t> sizes, std::span<const size_t> order,
                        size_t count) {
  std::vector<Bin> bins(count);
  for (const size_t item : order) {
    std::min_element(bins.begin(), bins.end(), [](const Bin& a, const Bin& b) {
      return a.size < b.size;
    })->add(item, sizes[item]);
  }
  return bins;
}

int64_t largest(const std::vector<Bin>& bins) {
  int64_t size = 0;
  for (const Bin& bin : bins) size = std::max(size, bin.size);
  return size;
}

}  // namespace

Result<Packing> pack_best_fit(std::span<const int64_t> sizes, int64_t budget,
                              std::string_view what) {
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0) return invalid_argument("{} {} has a size of {}", what, i, sizes[i]);
    if (sizes[i] > budget) {
      return invalid_argument("{} {} has {} tokens, more than the budget of {}", what, i, sizes[i],
                              budget);
    }
  }
  std::vector<size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return sizes[a] > sizes[b]; });
  std::vector<Bin> bins = best_fit(sizes, order, budget);
  if (bins.size() > 1) {
    std::vector<Bin> even = evenly(sizes, order, bins.size());
    if (largest(even) <= largest(bins)) bins = std::move(even);
  }
  Packing packing;
  for (Bin& bin : bins) {
    if (bin.items.empty()) continue;
    std::sort(bin.items.begin(), bin.items.end());
    packing.push_back(std::move(bin.items));
  }
  std::sort(packing.begin(), packing.end());
  return packing;
}

}  // namespace sluice
