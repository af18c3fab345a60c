#pragma once
#include "bench/bench.h"

namespace sluice::bench {

/// The benchmarks; each is documented in its own file.
Result<Report> run_service(const BenchOptions& options);
Result<Report> run_stream(const BenchOptions& options);
Result<Report> run_idle(const BenchOptions& options);
Result<Report> run_ppo_cartpole(const BenchOptions& options);
Result<Report> run_time_to_475(const BenchOptions& options);
Result<Report> run_repeat(const BenchOptions& options);
Result<Report> run_logprobs(const BenchOptions& options);
Result<Report> run_learning(const BenchOptions& options);
Result<Report> run_tokenize(const BenchOptions& options);
Result<Report> run_load(const BenchOptions& options);
Result<Report> run_forward(const BenchOptions& options);
Result<Report> run_backward(const BenchOptions& options);
Result<Report> run_decode_1(const BenchOptions& options);
Result<Report> run_decode_64(const BenchOptions& options);
Result<Report> run_decode_256(const BenchOptions& options);
Result<Report> run_prefill(const BenchOptions& options);
Result<Report> run_group(const BenchOptions& options);
Result<Report> run_prefix(const BenchOptions& options);
Result<Report> run_serve(const BenchOptions& options);
Result<Report> run_exact_cost(const BenchOptions& options);
Result<Report> run_swap(const BenchOptions& options);
Result<Report> run_spec(const BenchOptions& options);
Result<Report> run_lm_train_step(const BenchOptions& options);

}  // namespace sluice::bench
