#include "inference/server/server_metrics.h"

namespace sluice {
namespace {

const std::vector<double> kFirstToken{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1,
                                      0.25,  0.5,   0.75, 1,    2.5,  5,    7.5,  10,
                                      20,    40,    80,   160,  640,  2560};
const std::vector<double> kBetweenTokens{0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5,
                                         0.75, 1,     2.5,  5,     7.5, 10,   20,  40,  80};
const std::vector<double> kWhole{0.3, 0.5, 0.8, 1,  1.5, 2,   2.5, 5,   10,   15,  20,
                                 30,  40,  50,  60, 120, 240, 480, 960, 1920, 7680};
const std::vector<double> kTokens{1,   2,    5,    10,   20,    50,    100,   200,
                                  500, 1000, 2000, 5000, 10000, 20000, 50000, 100000};
const std::vector<double> kStep{1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384};
const std::vector<double> kSamples{1, 2, 5, 10, 20};

void catch_up(Counter& counter, int64_t now, int64_t seen) {
  if (now > seen) counter.add(now - seen);
}

}  // namespace

ServerMetrics::ServerMetrics(MetricRegistry& r, const std::string& model)
    : registry_(r),
      labels_{{"model_name", model}, {"engine", "0"}},
      running_(r.gauge("vllm:num_requests_running", "Sequences that are computed.", labels_)),
      waiting_(r.gauge("vllm:num_requests_waiting", "Sequences that wait.", labels_)),
      kv_usage_(r.gauge("vllm:kv_cache_usage_perc", "Share of KV blocks in use, 0 to 1.", labels_)),
      gpu_usage_(r.gauge("vllm:gpu_cache_usage_perc", "The same under its old name.", labels_)),
      prompt_tokens_(r.counter("vllm:prompt_tokens_total", "Tokens of prompts.", labels_)),
      generation_tokens_(r.counter("vllm:generation_tokens_total", "Tokens drawn.", labels_)),
      prefix_queries_(r.counter("vllm:prefix_cache_queries_total",
                                "Tokens looked for in the prefix cache.", labels_)),
      prefix_hits_(
          r.counter("vllm:prefix_cache_hits_total", "Tokens found in the prefix cache.", labels_)),
      preemptions_(r.counter("vllm:num_preemptions_total",
                             "Sequences that lost their blocks to others.", labels_)),
      turned_away_(r.counter("sluice_server_turned_away_total",
                             "Requests refused because too many wait.", labels_)),
      drafts_(r.counter("vllm:spec_decode_num_drafts_total",
                        "Times that a sequence's next tokens were guessed.", labels_)),
      drafted_(r.counter("vllm:spec_decode_num_draft_tokens_total", "Guesses that were checked.",
                         labels_)),
      accepted_(r.counter("vllm:spec_decode_num_accepted_tokens_total", "Guesses that were right.",
                          labels_)),
      first_token_(r.histogram("vllm:time_to_first_token_seconds",
                               "From a request to its first token.", kFirstToken, labels_)),
      between_tokens_(r.histogram("vllm:inter_token_latency_seconds",
                                  "From a token of a request to its next.", kBetweenTokens,
                                  labels_)),
      whole_(r.histogram("vllm:e2e_request_latency_seconds", "From a request to its end.", kWhole,
                         labels_)),
      step_tokens_(
          r.histogram("vllm:iteration_tokens_total", "Tokens computed in a step.", kStep, labels_)),
      request_prompt_(r.histogram("vllm:request_prompt_tokens", "Tokens of a request's prompt.",
                                  kTokens, labels_)),
      request_generation_(r.histogram("vllm:request_generation_tokens",
                                      "Tokens drawn for a request.", kTokens, labels_)),
      request_n_(r.histogram("vllm:request_params_n", "The n of requests.", kSamples, labels_)),
      request_max_tokens_(r.histogram("vllm:request_params_max_tokens",
                                      "The max_tokens of requests.", kTokens, labels_)) {
  for (const FinishReason reason :
       {FinishReason::Stop, FinishReason::Length, FinishReason::Abort}) {
    success(reason);
  }
}

Counter& ServerMetrics::success(FinishReason reason) {
  Labels labels = labels_;
  labels.emplace_back("finished_reason", name(reason));
  return registry_.counter("vllm:request_success_total", "Choices that ended, by reason.",
                           std::move(labels));
}

void ServerMetrics::update(const EngineStats& stats) {
  running_.set(static_cast<double>(stats.scheduler.running));
  waiting_.set(static_cast<double>(stats.scheduler.waiting));
  const double usage =
      stats.blocks > 0 ? 1 - static_cast<double>(stats.free_blocks) / stats.blocks : 0;
  kv_usage_.set(usage);
  gpu_usage_.set(usage);
  catch_up(generation_tokens_, stats.generated_tokens, seen_.generated_tokens);
  catch_up(prefix_queries_, stats.scheduler.prefix_queries, seen_.scheduler.prefix_queries);
  catch_up(prefix_hits_, stats.scheduler.prefix_hits, seen_.scheduler.prefix_hits);
  catch_up(preemptions_, stats.scheduler.preemptions, seen_.scheduler.preemptions);
  catch_up(drafts_, stats.drafts, seen_.drafts);
  catch_up(drafted_, stats.drafted_tokens, seen_.drafted_tokens);
  catch_up(accepted_, stats.accepted_tokens, seen_.accepted_tokens);
  if (stats.computed_tokens > seen_.computed_tokens) {
    step(stats.computed_tokens - seen_.computed_tokens);
  }
  seen_ = stats;
}

void ServerMetrics::accepted(int64_t prompt_tokens, int32_t n, int32_t max_tokens) {
  prompt_tokens_.add(prompt_tokens);
  request_prompt_.observe(static_cast<double>(prompt_tokens));
  request_n_.observe(n);
  request_max_tokens_.observe(max_tokens);
}

void ServerMetrics::finished(const Completion& done, TimeNs since_asked) {
  int64_t tokens = 0;
  for (const Sample& sample : done.samples) {
    tokens += std::ssize(sample.tokens);
    success(sample.reason).add();
  }
  request_generation_.observe(static_cast<double>(tokens));
  seconds(whole_, since_asked);
}

}  // namespace sluice
