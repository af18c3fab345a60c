#include "dataflow/transport/service_metrics.h"

namespace sluice {

ServiceMetrics::ServiceMetrics(MetricRegistry& r, const std::string& channel)
    : asked(r.counter("sluice_service_asked_total", "questions accepted", {{"channel", channel}})),
      answered(r.counter("sluice_service_answered_total", "questions answered in time",
                         {{"channel", channel}})),
      late(r.counter("sluice_service_late_total",
                     "answers discarded because nobody waited any more", {{"channel", channel}})),
      lost_clients(r.counter("sluice_service_lost_clients_total",
                             "clients that went away without closing", {{"channel", channel}})),
      lost_servers(r.counter("sluice_service_lost_servers_total",
                             "servers that went away without closing", {{"channel", channel}})),
      waiting(r.gauge("sluice_service_waiting", "questions no server has taken yet",
                      {{"channel", channel}})),
      batch_size(r.histogram("sluice_service_batch_size", "weight of the batches taken",
                             {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096, 16384, 65536},
                             {{"channel", channel}})),
      latency(r.histogram("sluice_service_latency_seconds", "time from question to answer",
                          {1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10, 100},
                          {{"channel", channel}})) {
  constexpr std::array kReasons = {"deadline", "server_lost", "server_closed", "client_gone",
                                   "server"};
  for (size_t i = 0; i < kReasons.size(); ++i) {
    failed_[i] = &r.counter("sluice_service_failed_total", "questions that got no answer",
                            {{"channel", channel}, {"reason", kReasons[i]}});
  }
}

}  // namespace sluice
