#include "dataflow/transport/stream_queue.h"

#include <algorithm>
#include <utility>

namespace sluice {

StreamQueue::StreamQueue(const StreamSpec& spec, const Clock& clock, MetricRegistry& metrics)
    : spec_(spec),
      clock_(clock),
      metrics_(metrics, spec.name),
      table_(spec.policy.capacity, spec.policy.reuse,
             make_sampler(spec.policy.sampling, spec.policy.capacity, spec.seed)),
      limiter_(spec.policy.samples_per_insert, spec.policy.ratio_tolerance, spec.policy.min_size),
      gate_(spec.policy.max_staleness, spec.policy.on_stale),
      items_(static_cast<size_t>(spec.policy.capacity)) {
  if (spec.policy.admit_ahead >= 0) {
    window_.emplace(spec.policy.admit_ahead, spec.policy.admit_batch);
  }
}

StreamQueue::Writer StreamQueue::open_writer() {
  ++open_writers_;
  Writer writer;
  writer.id = next_writer_++;
  return writer;
}

PutResult StreamQueue::put(Writer& writer, std::shared_ptr<const void>& value,
                           const VersionSpan& versions) {
  if (reader_closed_ || !writer.open) return turn_away(writer);
  switch (gate_.judge(versions)) {
    case Freshness::Drop:
      return refuse(writer, StreamMetrics::Drop::Stale);
    case Freshness::DropLineage:
      return refuse(writer, StreamMetrics::Drop::Lineage);
    case Freshness::Error:  // the reader is told
    case Freshness::Keep:
      break;
  }
  if (window_ && writer.permits == 0 && window_->room() == 0) return hold_back(writer);
  if (!limiter_.may_insert(table_.size())) return hold_back(writer);
  if (table_.full()) {
    if (spec_.policy.when_full != WhenFull::DropOldest) return hold_back(writer);
    drop(table_.oldest(), StreamMetrics::Drop::Full);
  }
  accept(writer, value, versions);
  return PutResult::Accepted;
}

void StreamQueue::accept(Writer& writer, std::shared_ptr<const void>& value,
                         const VersionSpan& versions) {
  AnyItem& held = item(table_.insert());
  held.value = std::move(value);
  held.info = {versions, writer.id, writer.sequence++, clock_.now()};
  limiter_.inserted();
  if (window_) {
    window_->accepted(writer.permits > 0);
    if (writer.permits > 0) --writer.permits;
  }
  metrics_.written.add();
  metrics_.depth.set(static_cast<double>(table_.size()));
}

PutResult StreamQueue::refuse(Writer& writer, StreamMetrics::Drop reason) {
  metrics_.dropped(reason).add();
  if (writer.permits > 0) return_permits(writer, 1);
  return PutResult::Refused;
}

PutResult StreamQueue::turn_away(Writer& writer) {
  // With admission, what a writer brings after its end was counted, or given back, with its permit.
  if (writer.open || !window_) metrics_.dropped(StreamMetrics::Drop::Closed).add();
  if (writer.permits > 0) return_permits(writer, 1);
  return PutResult::Closed;
}

PutResult StreamQueue::hold_back(Writer& writer) {
  if (spec_.policy.when_full != WhenFull::Refuse) return PutResult::Full;
  return refuse(writer, StreamMetrics::Drop::Refused);
}

void StreamQueue::drop(int32_t slot, StreamMetrics::Drop reason) {
  metrics_.dropped(reason).add();
  if (table_.times_read(slot) == 0) {
    if (window_) window_->refunded(1);
    // A replay stream pushes items out as a matter of course; anything else owes no reads for what
    // was never read, or readers and writers would wait for each other.
    if (reason != StreamMetrics::Drop::Full) limiter_.forgotten();
  }
  dropped_.push_back(std::move(item(slot).value));
  table_.remove(slot);
  ++relief_;
}

void StreamQueue::return_permits(Writer& writer, int64_t permits) {
  writer.permits -= permits;
  if (window_) window_->given_back(permits);
  ++relief_;
}

int64_t StreamQueue::admit(Writer& writer, int64_t wanted) {
  if (reader_closed_ || !writer.open || wanted <= 0) return 0;
  const int64_t granted = window_ ? std::min(wanted, window_->room()) : wanted;
  if (window_) {
    window_->started(granted);
    writer.permits += granted;
  }
  metrics_.admitted.add(granted);
  return granted;
}

void StreamQueue::give_back(Writer& writer, int64_t permits) {
  if (!window_) return;
  return_permits(writer, std::clamp<int64_t>(permits, 0, writer.permits));
}

void StreamQueue::close_writer(Writer& writer) {
  if (!writer.open) return;
  give_back(writer, writer.permits);
  writer.open = false;
  --open_writers_;
  ++clean_closes_;
}

void StreamQueue::lose_writer(Writer& writer) {
  if (!writer.open) return;
  metrics_.lost_writers.add();
  metrics_.dropped(StreamMetrics::Drop::WriterLost).add(writer.permits);
  give_back(writer, writer.permits);
  writer.open = false;
  --open_writers_;
}

void StreamQueue::open_reader() {
  ++open_readers_;
  reader_closed_ = false;
}

void StreamQueue::close_reader() {
  if (--open_readers_ > 0) return;
  reader_closed_ = true;
  while (table_.size() > 0) drop(table_.oldest(), StreamMetrics::Drop::ReaderClosed);
  metrics_.depth.set(0);
  ++relief_;
}

void StreamQueue::lose_reader() {
  --open_readers_;
  metrics_.lost_readers.add();
}

bool StreamQueue::can_take(int64_t n) const {
  const bool distinct = spec_.policy.sampling != Sampling::Uniform;
  if ((distinct ? table_.size() : table_.readable()) < n) return false;
  return writers_done() ? limiter_.ratio_allows(n) : limiter_.may_sample(n, table_.size());
}

int64_t StreamQueue::depth() const noexcept { return can_take(1) ? table_.size() : 0; }

Status StreamQueue::check_request(int64_t n) const {
  if (n < 1 || n > spec_.policy.capacity) {
    return invalid_argument("stream '{}' holds {} items: a request for {} can never be met",
                            spec_.name, spec_.policy.capacity, n);
  }
  if (limiter_.never_allows(n)) {
    return invalid_argument(
        "stream '{}': a request for {} can never be met with {} reads per write and a tolerance of "
        "{}; the tolerance must be at least {}",
        spec_.name, n, spec_.policy.samples_per_insert, spec_.policy.ratio_tolerance,
        (static_cast<double>(n) + spec_.policy.samples_per_insert) / 2);
  }
  return {};
}

Status StreamQueue::take(int64_t n, std::vector<AnyItem>& items) {
  items.clear();
  RETURN_IF_ERROR(check_request(n));
  if (!can_take(n)) {
    if (!writers_done()) return {};
    return error(Code::OutOfRange, "stream '{}' has ended with {} items left; {} were asked for",
                 spec_.name, table_.size(), n);
  }
  if (spec_.policy.on_stale == OnStale::Error) {
    for (int32_t slot = table_.oldest(); slot != SlotList::kNone; slot = table_.newer(slot)) {
      if (gate_.judge(item(slot).info.versions) != Freshness::Error) continue;
      return stale_error(item(slot).info);
    }
  }
  const TimeNs now = clock_.now();
  items.reserve(static_cast<size_t>(n));
  table_.begin_batch();
  for (int64_t i = 0; i < n; ++i) {
    const ItemTable::Read read = table_.read();
    AnyItem& held = item(read.slot);
    metrics_.age.observe(static_cast<double>(now - held.info.written) * 1e-9);
    const int64_t behind = staleness(gate_.current(), held.info.versions);
    metrics_.staleness.observe(static_cast<double>(std::max<int64_t>(0, behind)));
    items.push_back(read.left ? std::move(held) : held);
  }
  limiter_.sampled(n);
  metrics_.read.add(n);
  metrics_.depth.set(static_cast<double>(table_.size()));
  ++relief_;
  return {};
}

Status StreamQueue::stale_error(const ItemInfo& info) const {
  return error(Code::FailedPrecondition,
               "stream '{}' holds an item of version {} while {} is trained; max_staleness is {}",
               spec_.name, info.versions.oldest.to_string(), gate_.current().to_string(),
               spec_.policy.max_staleness);
}

Status StreamQueue::recheck(const std::vector<ItemInfo>& taken, std::vector<bool>& keep) {
  keep.assign(taken.size(), true);
  for (size_t i = 0; i < taken.size(); ++i) {
    const VersionSpan& versions = taken[i].versions;
    const Freshness freshness = gate_.judge(versions);
    if (freshness == Freshness::Keep) continue;
    if (freshness == Freshness::Error) return stale_error(taken[i]);
    keep[i] = false;
    metrics_
        .dropped(freshness == Freshness::Drop ? StreamMetrics::Drop::Stale
                                              : StreamMetrics::Drop::Lineage)
        .add();
    // An item that may be read several times is refunded, if at all, when it leaves the table.
    const bool on_account = versions.newest.incarnation == gate_.current().incarnation;
    if (window_ && spec_.policy.reuse == 1 && on_account) window_->refunded(1);
    ++relief_;
  }
  return {};
}

int64_t StreamQueue::unread() const {
  int64_t count = 0;
  for (int32_t slot = table_.oldest(); slot != SlotList::kNone; slot = table_.newer(slot)) {
    count += table_.times_read(slot) == 0 ? 1 : 0;
  }
  return count;
}

void StreamQueue::advance(const VersionTag& current) {
  if (!gate_.advance(current)) return;
  for (int32_t slot = table_.oldest(); slot != SlotList::kNone;) {
    const int32_t next = table_.newer(slot);
    const Freshness freshness = gate_.judge(item(slot).info.versions);
    if (freshness == Freshness::Drop) drop(slot, StreamMetrics::Drop::Stale);
    if (freshness == Freshness::DropLineage) drop(slot, StreamMetrics::Drop::Lineage);
    slot = next;
  }
  if (window_) window_->advance(current, unread());
  metrics_.depth.set(static_cast<double>(table_.size()));
  ++relief_;
}

}  // namespace sluice
