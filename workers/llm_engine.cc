#include "workers/llm_engine.h"

#include "dataflow/base/log.h"
#include "inference/engine/packed_weights.h"
#include "inference/kernels/kv_store.h"
#include "inference/speculation/neural/make_drafter.h"
#include "models/io/checkpoint.h"
#include "models/io/end_tokens.h"
#include "models/io/load_tokenizer.h"
#include "models/io/model_cache.h"
#include "models/tokenizer/tokenizer.h"
#include "models/transformer/loading.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace sluice {
namespace {

SwapMode mode_of(Swap swap) {
  switch (swap) {
    case Swap::Drain:
      return SwapMode::Drain;
    case Swap::Resume:
      return SwapMode::Resume;
    case Swap::InFlight:
      return SwapMode::InFlight;
  }
  return SwapMode::Resume;
}

Result<KvFormat> kv_format_of(const std::string& text) {
  for (const KvFormat format : {KvFormat::Fp32, KvFormat::Bf16, KvFormat::Int8}) {
    if (name(format) == text) return format;
  }
  return invalid_argument("kv is '{}': it must be fp32, bf16 or int8", text);
}

TensorReader reader_of(const Weights& weights) {
  TensorReader reader;
  for (const auto& [name, tensor] : weights.tensors) {
    reader.tensors.push_back({name, tensor.sizes().vec()});
  }
  reader.read = [&weights](const std::string& name) -> Result<at::Tensor> {
    const at::Tensor tensor = weights.find(name);
    if (!tensor.defined()) return error(Code::NotFound, "the weights have no '{}'", name);
    return tensor;
  };
  return reader;
}

}  // namespace

void LlmEngine::bind(ConfigBinder& b) {
  b.field("model", model, "folder, .gguf file, or name of a fetched model");
  b.field("kv_mib", kv_mib, "memory for keys and values", Range::between(1, 1 << 24));
  b.field("max_length", max_length, "tokens of a sequence; 0 = the model's positions",
          Range::between(0, 1 << 24));
  b.field("token_budget", token_budget, "tokens computed in one step", Range::between(1, 1 << 20));
  b.field("block_size", block_size, "tokens of a block of keys and values",
          Range::between(1, 1024));
  b.field("speculate", speculate, "guess tokens ahead: ngram, suffix, jacobi, draft=, heads=");
  b.field("kv", kv, "how keys and values are stored: fp32, bf16 or int8; empty = as the weights");
  b.field(
      "weights", weights, "how weights are packed: fp32 is exact, bf16 and int8 are fast",
      {{"fp32", WeightFormat::Fp32}, {"bf16", WeightFormat::Bf16}, {"int8", WeightFormat::Int8}});
}

void LlmEngine::check(std::vector<std::string>& problems) const {
  const auto path = resolve_model(model);
  if (!path.ok()) problems.push_back(path.status().message());
  if (kv.empty()) return;
  const auto format = kv_format_of(kv);
  if (!format.ok()) problems.push_back(format.status().message());
}

Result<std::unique_ptr<Worker>> LlmEngine::make(WorkerContext& context) const {
  ASSIGN_OR_RETURN(const std::string path, resolve_model(model));
  ASSIGN_OR_RETURN(const auto checkpoint, Checkpoint::open(path));
  ASSIGN_OR_RETURN(const Transformer transformer, load_transformer(*checkpoint));
  EngineOptions options;
  ASSIGN_OR_RETURN(options.tokenizer, load_tokenizer(path));
  options.end_tokens = end_tokens_of(*checkpoint);
  options.kv_bytes = kv_mib << 20;
  options.max_length = max_length;
  options.block_size = static_cast<int32_t>(block_size);
  if (!kv.empty()) {
    ASSIGN_OR_RETURN(options.kv_format, kv_format_of(kv));
  }
  options.scheduler.token_budget = token_budget;
  options.seed = context.key().value();
  options.vocabulary = std::min(transformer.config().vocab_size,
                                static_cast<int64_t>(options.tokenizer->vocab_size()));
  options.linear = packed_weights(weights);
  if (!speculate.empty()) {
    DraftTarget target;
    target.model = &transformer;
    target.tokenizer = options.tokenizer.get();
    target.vocabulary = options.vocabulary;
    target.linear = options.linear;
    ASSIGN_OR_RETURN(options.drafter, make_drafter(speculate, target));
  }
  VersionTag first;
  SwapMode swap = SwapMode::Resume;
  LatestFollower<Weights> weights;
  if (context.connected(Verb::Follows)) {
    ASSIGN_OR_RETURN(const LatestPolicy policy, context.followed_policy());
    swap = mode_of(policy.swap);
    ASSIGN_OR_RETURN(weights, context.follower<Weights>());
  } else {
    first = {context.run().run(), context.run().incarnation(), 0, 0};
  }
  ASSIGN_OR_RETURN(auto server, (context.server<GenRequest, Completion>()));
  auto preparer = std::make_shared<WeightPreparer>();
  options.retire = [preparer](PreparedWeights old) { preparer->free(std::move(old)); };
  ASSIGN_OR_RETURN(auto engine,
                   Engine::create(transformer, std::move(options), first, context.clock()));
  return std::unique_ptr<Worker>(
      std::make_unique<LlmEngineWorker>(std::move(engine), std::move(preparer), swap, context,
                                        std::move(server), std::move(weights)));
}

LlmEngineWorker::LlmEngineWorker(std::unique_ptr<Engine> engine,
                                 std::shared_ptr<WeightPreparer> preparer, SwapMode swap,
                                 WorkerContext& context,
                                 ServiceServer<GenRequest, Completion> server,
                                 LatestFollower<Weights> weights)
    : engine_(std::move(engine)),
      preparer_(std::move(preparer)),
      swap_(swap),
      server_(std::move(server)),
      weights_(std::move(weights)),
      answered_(context.metrics().counter("sluice_llm_answers_total", "Requests answered.",
                                          context.labels())),
      unwanted_(context.metrics().counter("sluice_llm_unwanted_total",
                                          "Requests ended because nobody waited any more.",
                                          context.labels())),
      tokens_(context.metrics().counter("sluice_llm_tokens_total", "Tokens of the answers.",
                                        context.labels())),
      swaps_(context.metrics().counter("sluice_llm_swaps_total", "Weight versions installed.",
                                       context.labels())),
      refused_(context.metrics().counter("sluice_llm_refused_weights_total",
                                         "Weight versions that were damaged or did not fit.",
                                         context.labels())),
      version_(context.metrics().gauge("sluice_llm_version", "Step of the version that serves.",
                                       context.labels())),
      free_blocks_(context.metrics().gauge("sluice_llm_free_blocks",
                                           "Blocks of keys and values that no sequence holds.",
                                           context.labels())) {}

// What is under way comes back to its clients as a lost server's, through the channel. A task of
// the preparer reads the engine.
LlmEngineWorker::~LlmEngineWorker() { preparer_->stop(); }

void LlmEngineWorker::follow() {
  if (auto ready = preparer_->take()) install(*std::move(ready));
  if (!weights_ || preparer_->pending() || !weights_.has_newer(seen_)) return;
  const auto newest = weights_.current();
  seen_ = newest.tag;
  preparer_->start([engine = engine_.get(), newest]() -> Result<PreparedWeights> {
    if (newest.value->digest() != newest.tag.digest) {
      return error(Code::DataLoss, "version {} does not match its digest", newest.tag.to_string());
    }
    return engine->prepare_weights(reader_of(*newest.value));
  });
}

void LlmEngineWorker::install(Result<PreparedWeights> ready) {
  const Status status =
      ready.ok() ? engine_->swap_weights(*std::move(ready), seen_, swap_) : ready.status();
  if (!status.ok()) {
    refused_.add();
    log(LogLevel::Warning, "{}; version {} goes on serving", status.message(),
        engine_->version().to_string());
    return;
  }
  swaps_.add();
}

void LlmEngineWorker::take() {
  while (server_.try_take(batch_)) {
    for (auto& call : batch_) start(std::move(call));
  }
}

void LlmEngineWorker::start(std::unique_ptr<Call> call) {
  GenListener listener;
  listener.on_done = [this](Completion done) {
    const RequestId id = done.id;
    finish(id, std::move(done));
  };
  const auto id = engine_->submit(call->request, std::move(listener));
  if (id.ok()) {
    calls_.emplace(*id, std::move(call));
    return;
  }
  call->status = id.status();
  server_.answer(std::move(call));
}

void LlmEngineWorker::finish(RequestId id, Completion done) {
  const auto it = calls_.find(id);
  std::unique_ptr<Call> call = std::move(it->second);
  calls_.erase(it);
  for (const Sample& sample : done.samples) tokens_.add(std::ssize(sample.tokens));
  call->response = std::move(done);
  answered_.add();
  server_.answer(std::move(call));
}

void LlmEngineWorker::abort_unwanted() {
  std::vector<RequestId> gone;
  for (const auto& [id, call] : calls_) {
    if (!server_.wanted(*call)) gone.push_back(id);
  }
  for (const RequestId id : gone) {
    unwanted_.add();
    static_cast<void>(engine_->abort(id));
  }
}

Result<StepResult> LlmEngineWorker::step() {
  follow();
  abort_unwanted();
  const bool none_left = draining() && server_.next_due() == kForever;
  if (calls_.empty() && (server_.ended() || none_left)) {
    server_.close();
    if (weights_) weights_.close();
    return StepResult::finished();
  }
  if (calls_.empty() && preparer_->pending()) {
    // Nobody waits for the old weights: what is asked next is answered by the new ones.
    preparer_->wait(after(RealClock::instance().now(), kMillisecond));
    return StepResult::progress();
  }
  if (engine_->version().valid()) take();
  const bool busy = engine_->busy();
  if (busy) RETURN_IF_ERROR(engine_->step());
  version_.set(static_cast<double>(engine_->version().step));
  free_blocks_.set(engine_->stats().free_blocks);
  return busy ? StepResult::progress() : StepResult::idle(server_.next_due());
}

}  // namespace sluice
