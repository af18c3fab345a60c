#include "bench/programs.h"
#include "dataflow/base/nearest.h"

#include <algorithm>

namespace sluice::bench {

const std::vector<Bench>& benches() {
  static const std::vector<Bench> all = {
      {"service", "rollout to inference service, zero-cost environment and policy", run_service},
      {"stream", "trajectories of 32 floats and 200 steps from loop to loop", run_stream},
      {"idle", "memory and processor time of 1,000 idle workers", run_idle},
      {"ppo-cartpole", "env steps/s while PPO trains on CartPole-v1, beside its peers",
       run_ppo_cartpole},
      {"time-to-475", "seconds until PPO's evaluation on CartPole-v1 is 475, beside its peer",
       run_time_to_475},
      {"repeat", "the same seed twice, and a resumed run, give the same bits", run_repeat},
      {"logprobs", "memory and time of log-probs by tiles, beside full logits", run_logprobs},
      {"learning", "scores of 5 seeds on CartPole-v1 and Pendulum-v1", run_learning},
      {"tokenize", "MB/s of text to ids and back, one thread, SmolLM2's tokenizer, beside its peer",
       run_tokenize},
      {"load", "seconds from a model's file to ready tensors: safetensors and GGUF", run_load},
      {"forward", "tokens/s of SmolLM2-135M's shape in fp32, 2,048 packed tokens, beside its peer",
       run_forward},
      {"backward", "the same with loss and all gradients", run_backward},
      {"decode-1", "tokens/s of the engine, one sequence, beside reading the weights",
       run_decode_1},
      {"decode-64", "tokens/s of the engine, 64 sequences, beside its peer", run_decode_64},
      {"decode-256", "tokens/s of the engine, 256 sequences, beside its peer", run_decode_256},
      {"prefill", "tokens/s of the engine over prompts of 2,048 tokens", run_prefill},
      {"group", "64 prompts x 8 samples, forked, beside the same without forking", run_group},
      {"prefix", "seconds to the first token behind a shared prefix", run_prefix},
      {"serve", "64 clients streaming over HTTP: what serving adds to a step, and its evenness",
       run_serve},
      {"exact-cost", "exact mode beside fast fp32: decoding and a prompt", run_exact_cost},
      {"swap", "the pause of new weights while 16 sequences decode", run_swap},
      {"spec", "tokens/s with n-gram guesses, beside the same without", run_spec},
      {"lm-train-step",
       "seconds of a GRPO-shaped training step by part, and its share of the product",
       run_lm_train_step},
  };
  return all;
}

Result<Bench> find_bench(std::string_view name) {
  std::vector<std::string> names;
  for (const Bench& bench : benches()) {
    if (bench.name == name) return bench;
    names.emplace_back(bench.name);
  }
  if (name.empty()) {
    return invalid_argument("name a benchmark: {}", fmt::join(names, ", "));
  }
  return error(Code::NotFound, "no benchmark '{}'{}", name, did_you_mean(name, names));
}

}  // namespace sluice::bench
