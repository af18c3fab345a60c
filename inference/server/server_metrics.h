#pragma once
#include "dataflow/base/metrics.h"
#include "inference/engine/engine.h"

#include <string>

namespace sluice {

/// The numbers of a served model, under the names that vLLM gives them. Counted by the engine's
/// thread.
class ServerMetrics {
 public:
  ServerMetrics(MetricRegistry& registry, const std::string& model);

  /// Takes over what the engine counts itself.
  void update(const EngineStats& stats);
  void accepted(int64_t prompt_tokens, int32_t n, int32_t max_tokens);
  void first_token(TimeNs since_asked) { seconds(first_token_, since_asked); }
  void next_token(TimeNs since_last) { seconds(between_tokens_, since_last); }
  void step(int64_t tokens) { step_tokens_.observe(static_cast<double>(tokens)); }
  void finished(const Completion& done, TimeNs since_asked);
  /// Refused because too many wait.
  void turned_away() { turned_away_.add(); }

 private:
  static void seconds(Histogram& histogram, TimeNs time) {
    histogram.observe(static_cast<double>(time) * 1e-9);
  }
  Counter& success(FinishReason reason);

  MetricRegistry& registry_;
  Labels labels_;
  Gauge& running_;
  Gauge& waiting_;
  Gauge& kv_usage_;
  Gauge& gpu_usage_;
  Counter& prompt_tokens_;
  Counter& generation_tokens_;
  Counter& prefix_queries_;
  Counter& prefix_hits_;
  Counter& preemptions_;
  Counter& turned_away_;
  Counter& drafts_;
  Counter& drafted_;
  Counter& accepted_;
  Histogram& first_token_;
  Histogram& between_tokens_;
  Histogram& whole_;
  Histogram& step_tokens_;
  Histogram& request_prompt_;
  Histogram& request_generation_;
  Histogram& request_n_;
  Histogram& request_max_tokens_;
  EngineStats seen_;
};

}  // namespace sluice
