#include "dataflow/transport/stream_metrics.h"

namespace sluice {

StreamMetrics::StreamMetrics(MetricRegistry& r, const std::string& channel)
    : written(r.counter("sluice_stream_written_total", "items accepted", {{"channel", channel}})),
      read(r.counter("sluice_stream_read_total", "items read", {{"channel", channel}})),
      admitted(r.counter("sluice_stream_admitted_total", "permits to start an item",
                         {{"channel", channel}})),
      lost_writers(r.counter("sluice_stream_lost_writers_total",
                             "writers that went away without closing", {{"channel", channel}})),
      lost_readers(r.counter("sluice_stream_lost_readers_total",
                             "readers that went away without closing", {{"channel", channel}})),
      depth(r.gauge("sluice_stream_depth", "items held", {{"channel", channel}})),
      age(r.histogram("sluice_stream_age_seconds", "time from write to read",
                      {1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10, 60, 600}, {{"channel", channel}})),
      staleness(r.histogram("sluice_stream_staleness", "versions behind, at the read",
                            {0, 1, 2, 4, 8, 16, 32, 64, 128}, {{"channel", channel}})) {
  constexpr std::array kReasons = {"full",        "stale",         "lineage", "refused",
                                   "writer_lost", "reader_closed", "closed"};
  for (size_t i = 0; i < kReasons.size(); ++i) {
    dropped_[i] =
        &r.counter("sluice_stream_dropped_total", "items and permits that came to nothing",
                   {{"channel", channel}, {"reason", kReasons[i]}});
  }
}

}  // namespace sluice
