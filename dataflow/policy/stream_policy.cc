#include "dataflow/policy/stream_policy.h"

#include "dataflow/policy/differences.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice {
namespace {

template <class E>
using Names = std::vector<std::pair<std::string, E>>;

const Names<WhenFull> kWhenFull{{"block", WhenFull::Block},
                                {"drop_oldest", WhenFull::DropOldest},
                                {"refuse", WhenFull::Refuse}};
const Names<Sampling> kSampling{
    {"fifo", Sampling::Fifo}, {"newest", Sampling::Newest}, {"uniform", Sampling::Uniform}};
const Names<OnStale> kOnStale{
    {"drop", OnStale::Drop}, {"wait", OnStale::Wait}, {"error", OnStale::Error}};

/// Finds the name of a value.
template <class E>
auto named(const Names<E>& names) {
  return [&names](E value) {
    for (const auto& [name, v] : names) {
      if (v == value) return name;
    }
    return std::string("?");
  };
}

}  // namespace

void StreamPolicy::bind(ConfigBinder& b) {
  b.field("capacity", capacity, "items held", Range::between(1, 1 << 30));
  b.field("when_full", when_full, "what a full stream does to the next write", kWhenFull);
  b.field("sampling", sampling, "which items a reader gets", kSampling);
  b.field("reuse", reuse, "reads before an item leaves; 0 = only when pushed out",
          Range::at_least(0));
  b.field("min_size", min_size, "nothing is read before so many items are there",
          Range::at_least(1));
  b.field("samples_per_insert", samples_per_insert, "reads per write; 0 = no limit",
          Range::at_least(0));
  b.field("ratio_tolerance", ratio_tolerance, "items the ratio may run ahead on either side",
          Range::at_least(0));
  b.field("admit_ahead", admit_ahead, "versions writers may run ahead; -1 = no admission",
          Range::at_least(-1));
  b.field("admit_batch", admit_batch, "items trained on per version", Range::at_least(0));
  b.field("max_staleness", max_staleness, "oldest version that is read; -1 = any",
          Range::at_least(-1));
  b.field("on_stale", on_stale, "what happens to older items", kOnStale);
}

std::vector<std::string> problems(const StreamPolicy& p) {
  std::vector<std::string> out;
  const auto say = [&out]<class... A>(fmt::format_string<A...> text, A&&... args) {
    out.push_back(fmt::format(text, std::forward<A>(args)...));
  };
  if (p.capacity < 1) say("capacity {} holds nothing; it must be at least 1", p.capacity);
  if (p.capacity > (1 << 30)) say("capacity {} is more than {} items", p.capacity, 1 << 30);
  if (p.min_size < 1) say("min_size {} must be at least 1", p.min_size);
  if (p.min_size > p.capacity && p.capacity >= 1) {
    say("min_size {} is more than capacity {}: nothing could ever be read", p.min_size, p.capacity);
  }
  if (p.reuse < 0) say("reuse {} must be 0 (no limit) or more", p.reuse);
  if (p.reuse == 0 && p.sampling == Sampling::Fifo) {
    say("reuse 0 with first-in-first-out sampling reads the same items again for ever; sample "
        "newest or uniform, or give a reuse");
  }
  if (p.reuse == 0 && p.when_full != WhenFull::DropOldest) {
    say("reuse 0 needs when_full drop_oldest: nothing leaves, so {} items fill the stream for good",
        p.capacity);
  }
  if (p.samples_per_insert < 0) say("ratio {} must not be negative", p.samples_per_insert);
  if (p.ratio_tolerance < 0) say("ratio_tolerance {} must not be negative", p.ratio_tolerance);
  if (p.samples_per_insert > 0) {
    const double least = std::max(1.0, p.samples_per_insert);
    if (p.ratio_tolerance >= 0 && p.ratio_tolerance < least) {
      say("ratio_tolerance {} is less than {}: with {} reads per write, readers and writers would "
          "wait for each other",
          p.ratio_tolerance, least, p.samples_per_insert);
    }
    if (p.reuse > 0 && p.samples_per_insert > static_cast<double>(p.reuse)) {
      say("{} reads per write cannot be reached when an item leaves after {} (reuse)",
          p.samples_per_insert, p.reuse);
    }
    if (p.reuse > 0 && p.samples_per_insert < static_cast<double>(p.reuse) &&
        p.when_full == WhenFull::Block) {
      say("with {} reads per write, items that leave after {} (reuse) fill the stream for good; "
          "use when_full drop_oldest or a smaller reuse",
          p.samples_per_insert, p.reuse);
    }
  }
  if (p.admit_ahead < -1) say("admit_ahead {} must be -1 (none) or more", p.admit_ahead);
  if (p.admit_ahead >= 0 && p.admit_batch < 1) {
    say("admit_ahead {} needs admit_batch of at least 1, not {}", p.admit_ahead, p.admit_batch);
  }
  if (p.admit_ahead >= 0 && p.admit_batch > p.capacity) {
    say("admit_batch {} is more than capacity {}: a batch would never be complete", p.admit_batch,
        p.capacity);
  }
  if (p.max_staleness < -1) say("max_staleness {} must be -1 (any) or more", p.max_staleness);
  if (p.on_stale == OnStale::Wait && p.max_staleness < 0) {
    say("on_stale wait needs a max_staleness to wait for");
  }
  if (p.on_stale == OnStale::Wait && p.admit_ahead < 0) {
    say("on_stale wait holds writers back, which needs admit_ahead");
  }
  if (p.on_stale == OnStale::Wait && p.max_staleness >= 0 && p.admit_ahead > p.max_staleness) {
    say("on_stale wait with admit_ahead {} lets writers run further ahead than max_staleness {}",
        p.admit_ahead, p.max_staleness);
  }
  if (p.max_staleness == 0 && p.when_full == WhenFull::DropOldest) {
    say("max_staleness 0 with when_full drop_oldest throws away items of the version being "
        "trained; "
        "use block");
  }
  return out;
}

std::vector<std::string> differences(const StreamPolicy& a, const StreamPolicy& b) {
  Differences d;
  d.field("capacity", a.capacity, b.capacity);
  d.field("when_full", a.when_full, b.when_full, named(kWhenFull));
  d.field("sampling", a.sampling, b.sampling, named(kSampling));
  d.field("reuse", a.reuse, b.reuse);
  d.field("min_size", a.min_size, b.min_size);
  d.field("samples_per_insert", a.samples_per_insert, b.samples_per_insert);
  d.field("ratio_tolerance", a.ratio_tolerance, b.ratio_tolerance);
  d.field("admit_ahead", a.admit_ahead, b.admit_ahead);
  d.field("admit_batch", a.admit_batch, b.admit_batch);
  d.field("max_staleness", a.max_staleness, b.max_staleness);
  d.field("on_stale", a.on_stale, b.on_stale, named(kOnStale));
  return d.take();
}

}  // namespace sluice
