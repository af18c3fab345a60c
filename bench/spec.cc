// What guessing tokens ahead brings, SmolLM2-135M with its real weights in bf16, one sequence, 2
// threads: the engine with n-gram guesses beside the same engine without, in turns. Repetitive: a
// table that the prompt holds three times is written once more, greedily. Prose: a story drawn at
// temperature 1, where guesses are rarely right and must cost next to nothing.
#include "bench/programs.h"
#include "dataflow/base/clock.h"
#include "inference/engine/engine.h"
#include "inference/kernels/packed_linear_op.h"
#include "inference/speculation/ngram_drafter.h"
#include "models/io/checkpoint.h"
#include "models/io/load_tokenizer.h"
#include "models/io/model_cache.h"
#include "models/transformer/loading.h"

#include <ATen/Parallel.h>

namespace sluice::bench {
namespace {

constexpr int kDraftRepeats = 5;
constexpr int32_t kDraftTokens = 192;

std::string table_text() {
  const std::string table =
      "id,name,city,year,colour\n"
      "1,Anna Keller,Bremen,1984,green\n"
      "2,Jonas Weber,Leipzig,1979,blue\n"
      "3,Mia Hoffmann,Dresden,1991,red\n"
      "4,Paul Schmidt,Hamburg,1968,yellow\n"
      "5,Lena Fischer,Potsdam,1995,orange\n"
      "6,Felix Braun,Rostock,1973,violet\n"
      "7,Clara Vogel,Kassel,1988,white\n\n";
  return table + table + table + "id,name,city";
}

std::string story_text() {
  return "The old lighthouse keeper had not spoken to anyone since the storm. On the morning when "
         "the boat finally came, he put on his grey coat, walked down to the landing and";
}

/// Tokens per second behind the first one of a continuation.
Result<double> draft_rate(Engine& engine, const std::vector<int64_t>& prompt, float temperature,
                          uint64_t seed) {
  const Clock& clock = RealClock::instance();
  GenRequest request;
  request.prompt = prompt;
  request.sampling.max_tokens = kDraftTokens;
  request.sampling.temperature = temperature;
  request.sampling.seed = seed;
  request.sampling.ignore_eos = true;
  TimeNs first = 0;
  Status failed;
  GenListener listener;
  listener.on_token = [&](const TokenEvent&) {
    if (first == 0) first = clock.now();
  };
  listener.on_done = [&](const Completion& done) { failed = done.samples.front().error; };
  RETURN_IF_ERROR(engine.submit(std::move(request), std::move(listener)).status());
  while (engine.busy()) RETURN_IF_ERROR(engine.step());
  RETURN_IF_ERROR(failed);
  return (kDraftTokens - 1) / (static_cast<double>(clock.now() - first) * 1e-9);
}

}  // namespace

Result<Report> run_spec(const BenchOptions& options) {
  at::set_num_threads(2);
  ASSIGN_OR_RETURN(const std::string path, resolve_model("smollm2"));
  ASSIGN_OR_RETURN(const auto checkpoint, Checkpoint::open(path));
  ASSIGN_OR_RETURN(const auto tokenizer, load_tokenizer(path));
  ASSIGN_OR_RETURN(const Transformer model, load_transformer(*checkpoint));
  const auto engine_with = [&](std::shared_ptr<Drafter> drafter) {
    EngineOptions engine;
    engine.max_length = 2048;
    engine.scheduler.prefix_cache = false;
    engine.drafter = std::move(drafter);
    engine.linear = [](const Transformer& of) -> Result<std::shared_ptr<const LinearOp>> {
      ASSIGN_OR_RETURN(auto op,
                       PackedLinearOp::create(of.config(), of.parameters(), WeightFormat::Bf16));
      return std::shared_ptr<const LinearOp>(std::move(op));
    };
    return Engine::create(model, std::move(engine), VersionTag{1, 1, 1, 1}, RealClock::instance());
  };
  ASSIGN_OR_RETURN(const auto guessing, engine_with(std::make_shared<NgramDrafter>()));
  ASSIGN_OR_RETURN(const auto plain, engine_with(nullptr));
  struct Case {
    const char* name;
    std::string text;
    float temperature;
    double goal;
  };
  Report report;
  for (const Case& c :
       {Case{"repetitive", table_text(), 0, 1.5}, Case{"prose", story_text(), 1, 0.95}}) {
    ASSIGN_OR_RETURN(const auto ids, tokenizer->encode(c.text));
    const std::vector<int64_t> prompt(ids.begin(), ids.end());
    std::vector<double> with, without;
    const EngineStats before = guessing->stats();
    for (int i = 0; i <= kDraftRepeats; ++i) {
      const uint64_t seed = options.seed + static_cast<uint64_t>(i);
      ASSIGN_OR_RETURN(const double fast, draft_rate(*guessing, prompt, c.temperature, seed));
      ASSIGN_OR_RETURN(const double slow, draft_rate(*plain, prompt, c.temperature, seed));
      if (i == 0) continue;
      with.push_back(fast);
      without.push_back(slow);
    }
    const EngineStats after = guessing->stats();
    auto row = BenchResult::of(c.name, with, "tokens/s");
    row.peer = "without guesses";
    row.peer_value = median(without);
    row.peer_repeats = without;
    row.goal = Goal::at_least_ratio(c.goal);
    row.note = fmt::format("of {} guesses {} were right, {} tokens in all",
                           after.drafted_tokens - before.drafted_tokens,
                           after.accepted_tokens - before.accepted_tokens,
                           after.generated_tokens - before.generated_tokens);
    report.push_back(std::move(row));
  }
  return report;
}

}  // namespace sluice::bench
