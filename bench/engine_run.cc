#include "bench/engine_run.h"

#include "bench/smollm2.h"
#include "inference/kernels/packed_linear_op.h"
#include "models/transformer/architecture.h"

#include <ATen/core/Tensor.h>
#include <nlohmann/json.hpp>

namespace sluice::bench {

Result<EngineRun> EngineRun::create(const Options& options) {
  nlohmann::json json = smollm2_config();
  json["num_hidden_layers"] = options.layers;
  ASSIGN_OR_RETURN(const TransformerConfig config, read_hf_config(json));
  const Transformer model(config, Parameters::random(config, RandomKey(options.seed)));
  EngineRun run;
  run.seed_ = options.seed;
  EngineOptions engine;
  engine.max_length = options.max_length;
  engine.scheduler.prefix_cache = options.prefix_cache;
  engine.scheduler.token_budget = options.token_budget;
  engine.scheduler.long_prefill = 0;
  engine.kv_bytes = options.kv_mib << 20;
  engine.kv_format = options.kv;
  engine.tokenizer = options.tokenizer;
  engine.retire = options.retire;
  *run.weight_bytes_ = 4 * model.parameters().numel();
  if (options.packed) {
    engine.linear = [bytes = run.weight_bytes_, format = options.weights](
                        const Transformer& of) -> Result<std::shared_ptr<const LinearOp>> {
      ASSIGN_OR_RETURN(auto packed, PackedLinearOp::create(of.config(), of.parameters(), format));
      *bytes = packed->bytes();
      return std::shared_ptr<const LinearOp>(std::move(packed));
    };
  }
  ASSIGN_OR_RETURN(run.engine_, Engine::create(model, std::move(engine), VersionTag{1, 1, 1, 1},
                                               RealClock::instance()));
  return run;
}

std::vector<std::vector<int64_t>> EngineRun::prompts(int64_t count, int64_t length) {
  const RandomKey key(seed_);
  std::vector<std::vector<int64_t>> all(static_cast<size_t>(count));
  for (auto& prompt : all) {
    for (int64_t i = 0; i < length; ++i) {
      prompt.push_back(static_cast<int64_t>(key.word(drawn_++) % 49152));
    }
  }
  return all;
}

Result<EngineRun::Times> EngineRun::run(const std::vector<std::vector<int64_t>>& prompts,
                                        int32_t max_tokens, int32_t n) {
  const Clock& clock = RealClock::instance();
  Times times;
  const TimeNs start = clock.now();
  const auto now = [&] { return static_cast<double>(clock.now() - start) * 1e-9; };
  int64_t waiting = static_cast<int64_t>(prompts.size());
  Status failed;
  for (const auto& prompt : prompts) {
    GenRequest request;
    request.prompt = prompt;
    request.sampling.max_tokens = max_tokens;
    request.sampling.ignore_eos = true;
    request.sampling.n = n;
    request.sampling.seed = seed_;
    GenListener listener;
    listener.on_token = [&, began = false](const TokenEvent&) mutable {
      ++times.tokens;
      if (std::exchange(began, true) || --waiting > 0) return;
      times.first = now();
      times.tokens_at_first = times.tokens;
    };
    listener.on_done = [&](const Completion& done) {
      for (const Sample& sample : done.samples) {
        if (!sample.error.ok()) failed = sample.error;
      }
    };
    RETURN_IF_ERROR(engine_->submit(std::move(request), std::move(listener)).status());
  }
  while (engine_->busy()) RETURN_IF_ERROR(engine_->step());
  times.end = now();
  RETURN_IF_ERROR(failed);
  return times;
}

}  // namespace sluice::bench
