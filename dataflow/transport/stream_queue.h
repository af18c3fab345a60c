#pragma once
#include "dataflow/base/clock.h"
#include "dataflow/channel/stream.h"
#include "dataflow/policy/admission_window.h"
#include "dataflow/policy/item_table.h"
#include "dataflow/policy/rate_limiter.h"
#include "dataflow/policy/staleness_gate.h"
#include "dataflow/transport/stream_metrics.h"
#include "dataflow/transport/transport.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace sluice {

/// The state of a stream: what is held, and every rule about what comes in and goes out. Every
/// transport keeps one where its readers are. No threads and no waiting: the owner locks and wakes.
class StreamQueue {
 public:
  struct Writer {
    int64_t id = 0;
    int64_t sequence = 0;
    int64_t permits = 0;
    bool open = true;
  };

  StreamQueue(const StreamSpec& spec, const Clock& clock, MetricRegistry& metrics);

  Writer open_writer();
  PutResult put(Writer& writer, std::shared_ptr<const void>& value, const VersionSpan& versions);
  int64_t admit(Writer& writer, int64_t wanted);
  void give_back(Writer& writer, int64_t permits);
  void close_writer(Writer& writer);
  void lose_writer(Writer& writer);

  void open_reader();
  void close_reader();
  void lose_reader();
  Status take(int64_t n, std::vector<AnyItem>& items);
  void advance(const VersionTag& current);
  Status recheck(const std::vector<ItemInfo>& taken, std::vector<bool>& keep);

  [[nodiscard]] bool can_take(int64_t n) const;
  [[nodiscard]] bool writers_done() const noexcept {
    return open_writers_ == 0 && clean_closes_ >= spec_.writers;
  }
  [[nodiscard]] bool ended() const { return writers_done() && !can_take(1); }
  [[nodiscard]] bool reader_closed() const noexcept { return reader_closed_; }
  [[nodiscard]] int64_t depth() const noexcept;
  [[nodiscard]] const StreamSpec& spec() const noexcept { return spec_; }

  /// Grows whenever a writer that had to wait may have become able to go on.
  [[nodiscard]] uint64_t relief() const noexcept { return relief_; }
  /// Payloads that were dropped since the last call; let them go outside the lock.
  void swap_dropped(std::vector<std::shared_ptr<const void>>& out) { dropped_.swap(out); }

 private:
  void accept(Writer& writer, std::shared_ptr<const void>& value, const VersionSpan& versions);
  PutResult refuse(Writer& writer, StreamMetrics::Drop reason);
  PutResult turn_away(Writer& writer);
  PutResult hold_back(Writer& writer);
  void drop(int32_t slot, StreamMetrics::Drop reason);
  void return_permits(Writer& writer, int64_t permits);
  Status check_request(int64_t n) const;
  [[nodiscard]] Status stale_error(const ItemInfo& info) const;
  [[nodiscard]] int64_t unread() const;
  AnyItem& item(int32_t slot) { return items_[static_cast<size_t>(slot)]; }

  StreamSpec spec_;
  const Clock& clock_;
  StreamMetrics metrics_;
  ItemTable table_;
  RateLimiter limiter_;
  std::optional<AdmissionWindow> window_;
  StalenessGate gate_;
  std::vector<AnyItem> items_;  // by slot
  std::vector<std::shared_ptr<const void>> dropped_;
  int64_t next_writer_ = 0;
  int64_t open_writers_ = 0;
  int64_t clean_closes_ = 0;
  int64_t open_readers_ = 0;
  bool reader_closed_ = false;
  uint64_t relief_ = 0;
};

}  // namespace sluice
