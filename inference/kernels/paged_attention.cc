#include "inference/kernels/paged_attention.h"

#include "dataflow/base/result.h"
#include "models/transformer/parallel_rows.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <vector>

namespace sluice {
namespace {

constexpr int64_t kSplit = AttentionKernels::kSplit;
// Fewer products than this are done by one thread: waking another takes longer.
constexpr int64_t kSmall = 262144;

/// One key head of some rows that share a block table.
struct Unit {
  int64_t first_row;
  int64_t rows;
  int64_t kv_head;
  int64_t first_split;
  int64_t splits;
  int64_t cost;
};

class PagedAttention {
 public:
  PagedAttention(const AttentionSpec& spec, const float* q, const PagedKvView& kv,
                 std::span<const PagedRow> rows, float* out, float* log_sums)
      : spec_(spec),
        q_(q),
        kv_(kv),
        rows_(rows),
        out_(out),
        log_sums_(log_sums),
        share_(spec.heads / spec.kv_heads),
        kernels_(attention_kernels(active_isa())) {
    lengths_.reserve(rows.size());
    for (const PagedRow& row : rows) {
      SLUICE_CHECK(row.length > 0) << "a query that sees no key";
      lengths_.push_back(row.length);
    }
    find_units();
  }

  void run() {
    const int64_t threads = total_cost_ * spec_.head_dim < kSmall ? 1 : at::get_num_threads();
    int64_t splits = 0;
    for (const Unit& unit : units_) splits = std::max(splits, unit.splits);
    if (threads == 1 || splits == 1 || static_cast<int64_t>(units_.size()) >= 4 * threads) {
      each(units_, threads, [&](int64_t i) { whole(units_[static_cast<size_t>(i)]); });
    } else {
      by_split(threads);
    }
  }

 private:
  void find_units() {
    const int64_t most = std::max<int64_t>(1, AttentionKernels::kMaxQueries / share_);
    const auto count = static_cast<int64_t>(rows_.size());
    for (int64_t first = 0; first < count;) {
      int64_t end = first;
      int64_t low = lengths_[static_cast<size_t>(first)];
      int64_t high = 0;
      int64_t cost = 0;
      for (; end < count && end - first < most; ++end) {
        const PagedRow& row = rows_[static_cast<size_t>(end)];
        if (row.blocks != rows_[static_cast<size_t>(first)].blocks) break;
        const int64_t from = spec_.window > 0 ? std::max<int64_t>(0, row.length - spec_.window) : 0;
        low = std::min(low, from);
        high = std::max(high, row.length);
        cost += (row.length - from) * share_;
      }
      const int64_t split = low / kSplit;
      for (int64_t h = 0; h < spec_.kv_heads; ++h) {
        units_.push_back(
            {first, end - first, h, split, (high + kSplit - 1) / kSplit - split, cost});
        total_cost_ += cost;
      }
      first = end;
    }
  }

  /// f(i) for every item, on `threads` threads that each take a stretch of about the same cost.
  template <class F>
  static void each(const std::vector<Unit>& items, int64_t threads, const F& f) {
    int64_t total = 0;
    for (const Unit& item : items) total += item.cost;
    std::vector<size_t> begin = {0};
    int64_t sum = 0;
    for (size_t i = 0; i < items.size(); ++i) {
      // The next thread begins where half of this item would be over its share.
      while (static_cast<int64_t>(begin.size()) < threads &&
             (2 * sum + items[i].cost) * threads > 2 * total * static_cast<int64_t>(begin.size())) {
        begin.push_back(i);
      }
      sum += items[i].cost;
    }
    begin.resize(static_cast<size_t>(threads) + 1, items.size());
    parallel_rows(threads, 1, [&](int64_t first, int64_t last) {
      for (size_t i = begin[static_cast<size_t>(first)]; i < begin[static_cast<size_t>(last)];
           ++i) {
        f(static_cast<int64_t>(i));
      }
    });
  }

  [[nodiscard]] AttentionTask task(const Unit& unit) const {
    AttentionTask t;
    t.kv = kv_;
    t.blocks = rows_[static_cast<size_t>(unit.first_row)].blocks;
    t.kv_head = unit.kv_head;
    t.head_dim = spec_.head_dim;
    t.scale = static_cast<float>(spec_.scale);
    t.softcap = static_cast<float>(spec_.logit_softcap);
    t.window = spec_.window;
    t.q_stride = spec_.heads * spec_.head_dim;
    t.q = q_ + unit.first_row * t.q_stride + unit.kv_head * share_ * spec_.head_dim;
    t.rows = unit.rows;
    t.share = share_;
    t.lengths = lengths_.data() + unit.first_row;
    return t;
  }

  /// Memory of the calling thread that outlives the call, at the beginning of a cache line.
  static float* scratch(int64_t floats) {
    thread_local std::vector<float> memory;
    constexpr size_t kLine = 16;
    const size_t wanted = static_cast<size_t>(floats) + kLine;
    if (memory.size() < wanted) memory.resize(wanted);
    const auto past = reinterpret_cast<uintptr_t>(memory.data()) / sizeof(float) % kLine;
    return memory.data() + (kLine - past) % kLine;
  }

  void whole(const Unit& unit) const {
    const AttentionTask t = task(unit);
    const int64_t partials = t.queries() * AttentionKernels::partial_size(t.head_dim);
    float* total = scratch(2 * partials + AttentionKernels::scratch_size(t.queries(), t.head_dim));
    float* next = total + partials;
    for (int64_t s = 0; s < unit.splits; ++s) {
      kernels_.attend(t, unit.first_split + s, s == 0 ? total : next, next + partials);
      if (s > 0) kernels_.merge(total, next, t.queries(), t.head_dim);
    }
    finish(unit, total);
  }

  void finish(const Unit& unit, const float* total) const {
    const int64_t size = AttentionKernels::partial_size(spec_.head_dim);
    for (int64_t i = 0; i < unit.rows * share_; ++i) {
      const int64_t head =
          (unit.first_row + i / share_) * spec_.heads + unit.kv_head * share_ + i % share_;
      const float log_sum =
          kernels_.finish(total + i * size, spec_.head_dim, out_ + head * spec_.head_dim);
      if (log_sums_ != nullptr) log_sums_[head] = log_sum;
    }
  }

  /// Few long units: each split of each is an item of its own, merged afterwards.
  void by_split(int64_t threads) const {
    const int64_t size = AttentionKernels::partial_size(spec_.head_dim);
    std::vector<Unit> items;
    std::vector<int64_t> unit_of;
    std::vector<int64_t> place;  // of each item's partial, in floats
    int64_t floats = 0;
    for (size_t u = 0; u < units_.size(); ++u) {
      Unit item = units_[u];
      item.cost = std::max<int64_t>(1, item.cost / item.splits);
      for (int64_t s = 0; s < units_[u].splits; ++s) {
        item.first_split = units_[u].first_split + s;
        item.splits = 1;
        items.push_back(item);
        unit_of.push_back(static_cast<int64_t>(u));
        place.push_back(floats);
        floats += item.rows * share_ * size;
      }
    }
    std::vector<float> partials(static_cast<size_t>(floats));
    each(items, threads, [&](int64_t i) {
      const Unit& item = items[static_cast<size_t>(i)];
      const AttentionTask t = task(item);
      kernels_.attend(t, item.first_split, partials.data() + place[static_cast<size_t>(i)],
                      scratch(AttentionKernels::scratch_size(t.queries(), t.head_dim)));
    });
    float* total = nullptr;
    for (size_t i = 0; i < items.size(); ++i) {
      float* own = partials.data() + place[i];
      const bool first = i == 0 || unit_of[i] != unit_of[i - 1];
      if (first) {
        total = own;
      } else {
        kernels_.merge(total, own, items[i].rows * share_, spec_.head_dim);
      }
      if (i + 1 == items.size() || unit_of[i + 1] != unit_of[i]) finish(items[i], total);
    }
  }

  const AttentionSpec& spec_;
  const float* q_;
  const PagedKvView& kv_;
  std::span<const PagedRow> rows_;
  float* out_;
  float* log_sums_;
  int64_t share_;
  const AttentionKernels& kernels_;
  std::vector<int64_t> lengths_;
  std::vector<Unit> units_;
  int64_t total_cost_ = 0;
};

}  // namespace

void paged_attention(const AttentionSpec& spec, const float* q, const PagedKvView& kv,
                     std::span<const PagedRow> rows, float* out, float* log_sums) {
  SLUICE_CHECK(spec.kv_heads > 0 && spec.heads % spec.kv_heads == 0 && kv.block_size > 0)
      << spec.heads << " heads, " << spec.kv_heads << " key heads, blocks of " << kv.block_size;
  PagedAttention(spec, q, kv, rows, out, log_sums).run();
}

}  // namespace sluice
