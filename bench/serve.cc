// 64 clients that each stream an answer over HTTP from a server in this process, SmolLM2-135M's
// shape, random bf16 weights, SmolLM2's tokenizer, 2 threads of the tensor library. share: what
// HTTP, JSON, the tokenizer and the clients' own reading add to a step, as a share of it: the steps
// of the same engine without all that are timed in turns. inter_token: the 99th percentile of the
// times between two tokens of a client, against the median; prompts are computed meanwhile.
#include "bench/engine_run.h"
#include "bench/programs.h"
#include "bench/stream_clients.h"
#include "inference/server/llm_server.h"
#include "models/io/load_tokenizer.h"
#include "models/io/model_cache.h"

#include <ATen/Parallel.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>

namespace sluice::bench {
namespace {

constexpr int kRepeats = 3;
constexpr int64_t kClients = 64;
constexpr int64_t kPrompt = 16;
constexpr int32_t kNew = 64;
// Twice the sequences: a step that computes prompts too takes at most twice a step that does not.
constexpr int64_t kBudget = 2 * kClients;

std::vector<std::string> bodies_of(const std::vector<std::vector<int64_t>>& prompts) {
  std::vector<std::string> bodies;
  for (const auto& prompt : prompts) {
    const nlohmann::json body = {{"model", "bench"},        {"prompt", prompt},
                                 {"max_tokens", kNew},      {"ignore_eos", true},
                                 {"stream", true},          {"seed", bodies.size()},
                                 {"return_token_ids", true}};
    bodies.push_back(body.dump());
  }
  return bodies;
}

struct Streamed {
  double rate = 0;           ///< tokens per second once every client had its first
  std::vector<double> gaps;  ///< seconds between two tokens of a client
};

Result<Streamed> streamed(int port, const std::vector<std::vector<int64_t>>& prompts) {
  ASSIGN_OR_RETURN(const auto times, stream_completions(port, bodies_of(prompts)));
  Streamed out;
  TimeNs first = 0;
  TimeNs last = 0;
  for (const auto& client : times) {
    if (std::ssize(client) != kNew) {
      return error(Code::Internal, "a client saw {} of {} tokens", client.size(), kNew);
    }
    first = std::max(first, client.front());
    last = std::max(last, client.back());
    for (size_t i = 1; i < client.size(); ++i) {
      out.gaps.push_back(static_cast<double>(client[i] - client[i - 1]) * 1e-9);
    }
  }
  int64_t after_first = 0;
  for (const auto& client : times) {
    after_first += std::ranges::count_if(client, [&](TimeNs t) { return t > first; });
  }
  out.rate = static_cast<double>(after_first) / (static_cast<double>(last - first) * 1e-9);
  return out;
}

}  // namespace

Result<Report> run_serve(const BenchOptions& options) {
  const char* const given = std::getenv("SLUICE_BENCH_TOKENIZER");
  ASSIGN_OR_RETURN(const std::string path, resolve_model(given != nullptr ? given : "smollm2"));
  ASSIGN_OR_RETURN(const std::shared_ptr<const Tokenizer> tokenizer, load_tokenizer(path));
  at::set_num_threads(2);
  EngineRun::Options how;
  how.token_budget = kBudget;
  how.kv_mib = 1024;
  how.seed = options.seed;
  ASSIGN_OR_RETURN(auto alone, EngineRun::create(how));
  how.tokenizer = tokenizer;
  ASSIGN_OR_RETURN(auto behind, EngineRun::create(how));
  ServedModel model;
  model.name = "bench";
  model.tokenizer = tokenizer;
  model.vocabulary = std::min(alone.engine().model().config().vocab_size,
                              static_cast<int64_t>(tokenizer->vocab_size()));
  model.max_length = how.max_length;
  model.longest_token = longest_token(*tokenizer);
  LlmServerOptions serving;
  serving.port = 0;
  ASSIGN_OR_RETURN(const auto server,
                   LlmServer::start(behind.release(), std::move(model), serving));
  std::vector<double> shares;
  std::vector<double> rates;
  std::vector<double> p50;
  std::vector<double> p99;
  for (int i = 0; i <= kRepeats; ++i) {
    ASSIGN_OR_RETURN(const auto times, alone.run(alone.prompts(kClients, kPrompt), kNew));
    ASSIGN_OR_RETURN(const Streamed all,
                     streamed(server->port(), alone.prompts(kClients, kPrompt)));
    if (i == 0) continue;
    rates.push_back(all.rate);
    shares.push_back(1 - all.rate / times.decode_rate());
    p50.push_back(1e3 * quantile(all.gaps, 0.5));
    p99.push_back(1e3 * quantile(all.gaps, 0.99));
  }
  server->stop();
  auto rate = BenchResult::of("streamed", rates, "tokens/s");
  rate.note = fmt::format("{} clients, prompts of {} tokens, {} new, steps of at most {} tokens",
                          kClients, kPrompt, kNew, kBudget);
  auto share = BenchResult::of("share_of_step", shares, "");
  share.goal = Goal::at_most_value(0.05);
  share.note = "against the same engine without a server; the clients' reading is in it";
  auto gaps = BenchResult::of("inter_token_p99", p99, "ms");
  gaps.peer = "p50";
  gaps.peer_value = median(p50);
  gaps.peer_repeats = p50;
  gaps.goal = Goal::at_most_ratio(2);
  return Report{rate, share, gaps};
}

}  // namespace sluice::bench
