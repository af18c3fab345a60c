#include "inference/engine/engine.h"

#include "dataflow/base/random.h"
#include "inference/engine/engine_impl.h"
#include "inference/engine/paged_attention_op.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>

namespace sluice {
namespace {

/// Blocks of the options' memory; at least one.
int32_t count_blocks(const EngineOptions& options, const TransformerConfig& config,
                     KvFormat kv_format) {
  if (options.blocks > 0) return options.blocks;
  const int64_t each = PagedKvCache::block_bytes(config, options.block_size, kv_format);
  constexpr int64_t kMost = int64_t{1} << 30;
  return static_cast<int32_t>(
      std::clamp<int64_t>(options.kv_bytes / std::max<int64_t>(1, each), 1, kMost));
}

std::unique_ptr<PagedKvCache> make_cache(const EngineOptions& options,
                                         const TransformerConfig& config, int32_t blocks,
                                         KvFormat format) {
  if (options.executor) {
    return options.executor->make_cache(config, blocks, options.block_size, format);
  }
  return std::make_unique<PagedKvCache>(config, blocks, options.block_size, format);
}

bool has_linear_attention(const TransformerConfig& config) {
  return std::ranges::any_of(config.layers,
                             [](const LayerConfig& l) { return l.mixer != MixerKind::Attention; });
}

}  // namespace

Status check_tensors(const std::vector<ParameterSpec>& specs, at::ScalarType dtype,
                     const Parameters& weights) {
  for (const ParameterSpec& spec : specs) {
    const at::Tensor tensor = weights.get(spec.name);
    if (!tensor.defined()) return invalid_argument("the weights lack '{}'", spec.name);
    if (tensor.sizes() != at::IntArrayRef(spec.shape)) {
      return invalid_argument("'{}' is {} in the weights, the model has {}", spec.name,
                              shape_text(tensor.sizes()), shape_text(spec.shape));
    }
    if (tensor.scalar_type() != dtype) {
      return invalid_argument("'{}' is {} in the weights, the model has {}", spec.name,
                              c10::toString(tensor.scalar_type()), c10::toString(dtype));
    }
  }
  if (weights.entries().size() == specs.size()) return {};
  for (const auto& entry : weights.entries()) {
    if (std::ranges::find(specs, entry.name, &ParameterSpec::name) == specs.end()) {
      return invalid_argument("the model has no '{}'", entry.name);
    }
  }
  return {};
}

Result<std::unique_ptr<Engine>> Engine::create(const Transformer& model, EngineOptions options,
                                               VersionTag version, const Clock& clock) {
  TransformerConfig config = model.config();
  if (config.head != HeadKind::Language) return invalid_argument("the model has no language head");
  GenerationLimits limits;
  // Dynamic RoPE changes with the greatest length: unless asked for more, it stays as it was
  // trained.
  const bool dynamic = config.rope.type == RopeType::Dynamic && config.rope.dynamic_length == 0;
  const int64_t context = dynamic ? config.max_positions : context_length(config);
  limits.max_length = options.max_length > 0 ? options.max_length : context;
  if (config.learned_positions && limits.max_length > config.max_positions) {
    return invalid_argument("sequences of {} tokens; the model has {} positions", limits.max_length,
                            config.max_positions);
  }
  limits.vocabulary = options.vocabulary > 0 ? options.vocabulary : config.vocab_size;
  if (limits.vocabulary > config.vocab_size) {
    return invalid_argument("a vocabulary of {}; the model has {}", limits.vocabulary,
                            config.vocab_size);
  }
  if (options.block_size < 1 || options.blocks < 0) {
    return invalid_argument("{} blocks of {} tokens", options.blocks, options.block_size);
  }
  limits.end_tokens = options.end_tokens.empty() ? config.eos_tokens : options.end_tokens;
  options.scheduler.max_length = limits.max_length;
  // A cached block says nothing of the state of linear-attention layers.
  if (has_linear_attention(config)) options.scheduler.prefix_cache = false;
  if (has_linear_attention(config) && options.drafter != nullptr) {
    return invalid_argument(
        "the model has linear-attention layers, out of whose states a wrong guess cannot be "
        "taken: it decodes without a drafter");
  }
  if (options.max_drafts < 0) return invalid_argument("max_drafts is {}", options.max_drafts);
  // Keys that were rotated for a shorter sequence would disagree with later ones.
  if (dynamic) config.rope.dynamic_length = limits.max_length;
  if (options.executor) options.attention = options.executor->attention();
  if (!options.attention) options.attention = std::make_shared<PagedAttentionOp>();
  const at::ScalarType dtype = model.parameters().entries().front().tensor.scalar_type();
  const KvFormat kv_format =
      options.kv_format.value_or(dtype == at::kBFloat16 ? KvFormat::Bf16 : KvFormat::Fp32);
  if (options.executor && kv_format == KvFormat::Int8) {
    return invalid_argument("int8 keys and values are for the CPU");
  }
  if (options.executor && options.drafter != nullptr && options.drafter->needs().hidden) {
    return invalid_argument("the drafter reads hidden states, which stay on the device");
  }
  const int32_t blocks = count_blocks(options, config, kv_format);
  std::unique_ptr<Engine> engine(new Engine(std::move(options), std::move(limits),
                                            std::move(config), dtype, kv_format, blocks, version,
                                            clock));
  ASSIGN_OR_RETURN(PreparedWeights weights, engine->prepare_weights(model.parameters()));
  engine->serve(std::move(weights.model_));
  return engine;
}

Engine::Engine(EngineOptions options, GenerationLimits limits, TransformerConfig config,
               at::ScalarType dtype, KvFormat kv_format, int32_t blocks, VersionTag version,
               const Clock& clock)
    : options_(std::move(options)),
      limits_(std::move(limits)),
      config_(std::move(config)),
      dtype_(dtype),
      cache_(make_cache(options_, config_, blocks, kv_format)),
      scheduler_(options_.scheduler, blocks, options_.block_size, version),
      version_(version),
      clock_(clock),
      samplers_(static_cast<size_t>(std::max(1, at::get_num_threads()))) {}

Engine::~Engine() = default;

std::shared_ptr<ConstraintMasks> Engine::masks_of(const GenRequest& request,
                                                  const StopRules& rules) {
  if (request.constraint == nullptr) return nullptr;
  if (masks_ == nullptr) {
    masks_ = std::make_unique<MaskPool>(
        std::make_shared<const TokenTrie>(TokenTrie::of(*options_.tokenizer, limits_.vocabulary)));
  }
  return masks_->masks(request.constraint, rules.stop_ids());
}

Result<RequestId> Engine::submit(GenRequest request, GenListener listener) {
  RETURN_IF_ERROR(sluice::check(request, limits_));
  if (options_.tokenizer == nullptr && !request.sampling.stop.empty()) {
    return invalid_argument("stop strings need a tokenizer");
  }
  if (options_.tokenizer == nullptr && request.constraint != nullptr) {
    return invalid_argument("a constraint needs a tokenizer");
  }
  const RequestId id = next_id_;
  auto own = std::make_shared<Request>();
  SamplingParams bounded = request.sampling;
  bounded.max_tokens = static_cast<int32_t>(longest(request, limits_) - std::ssize(request.prompt));
  const auto rules = std::make_shared<const StopRules>(bounded, limits_.end_tokens);
  const auto masks = masks_of(request, *rules);
  for (int32_t i = 0; i < request.sampling.n; ++i) {
    ASSIGN_OR_RETURN(Generation sample,
                     Generation::start(request, request.first_sample + static_cast<uint32_t>(i),
                                       rules, options_.tokenizer.get(), masks));
    own->samples.push_back(std::move(sample));
  }
  SequenceSpec spec;
  spec.tokens = request.prompt;
  spec.tokens.insert(spec.tokens.end(), request.generated.begin(), request.generated.end());
  spec.max_length = longest(request, limits_);
  spec.samples = request.sampling.n;
  spec.priority = request.priority;
  spec.order = request.order.value_or(id);
  spec.deadline = request.deadline;
  spec.salt = request.salt;
  spec.find_prefix = !request.sampling.prompt_logprobs;
  ASSIGN_OR_RETURN(const SequenceId sequence, scheduler_.submit(std::move(spec)));
  own->id = id;
  own->seed = request.sampling.seed.value_or(
      RandomKey(options_.seed).split("request").word(static_cast<uint64_t>(id)));
  own->open = request.sampling.n;
  own->samples.front().sequence = sequence;
  if (request.sampling.prompt_logprobs) own->prompt_logprobs.resize(request.prompt.size(), 0);
  own->spec = std::move(request);
  own->listener = std::move(listener);
  places_[sequence] = {own.get(), 0};
  requests_.emplace(id, std::move(own));
  ++next_id_;
  return id;
}

Status Engine::check_sampling(const SamplingParams& sampling) const {
  GenRequest shortest;
  shortest.prompt = {0};
  shortest.sampling = sampling;
  RETURN_IF_ERROR(sluice::check(shortest, limits_));
  SequenceSpec spec;
  spec.tokens = shortest.prompt;
  spec.samples = sampling.n;
  return scheduler_.admissible(spec);
}

void Engine::end_sample(Request& request, size_t sample, FinishReason reason, bool keep) {
  Generation& own = request.samples[sample];
  if (own.sequence != 0) {
    forget_drafts(request, own, keep);
    scheduler_.finish(own.sequence, keep);
    cache_->forget(own.sequence);
    places_.erase(own.sequence);
    own.sequence = 0;
  }
  own.end(reason);
  if (--request.open == 0) close(request);
}

void Engine::close(Request& request) {
  const auto it = requests_.find(request.id);
  Event event;
  event.request = std::move(it->second);
  event.done = true;
  requests_.erase(it);
  events_.push_back(std::move(event));
  ++stats_.finished;
}

void Engine::end_all(Request& request, FinishReason reason, const Status& error) {
  for (size_t i = 0; i < request.samples.size(); ++i) {
    Generation& sample = request.samples[i];
    if (sample.ended) continue;
    sample.out.error = error;
    end_sample(request, i, reason, reason != FinishReason::Failed);
  }
}

Status Engine::abort(RequestId id) {
  const auto it = requests_.find(id);
  if (it == requests_.end()) return error(Code::NotFound, "no request {}", id);
  end_all(*it->second, FinishReason::Abort, {});
  tell();
  return {};
}

void Engine::abort_all() {
  std::vector<RequestId> ids;
  for (const auto& [id, request] : requests_) ids.push_back(id);
  std::ranges::sort(ids);
  for (const RequestId id : ids) static_cast<void>(abort(id));
}

Status Engine::finish(RequestId id, uint32_t sample, FinishReason reason) {
  const auto it = requests_.find(id);
  if (it == requests_.end()) return error(Code::NotFound, "no request {}", id);
  Request& request = *it->second;
  const int64_t i = static_cast<int64_t>(sample) - request.spec.first_sample;
  if (i < 0 || i >= std::ssize(request.samples)) {
    return error(Code::NotFound, "request {} has no sample {}", id, sample);
  }
  const auto index = static_cast<size_t>(i);
  if (request.samples[index].ended) {
    return error(Code::NotFound, "sample {} of request {} has ended", sample, id);
  }
  if (!request.forked) {
    return error(Code::FailedPrecondition, "the prompt of request {} is not computed", id);
  }
  if (telling_ != nullptr && telling_->request.get() == &request && telling_->index == index &&
      telling_->tokens < request.samples[index].out.tokens.size()) {
    request.samples[index].cut(telling_->tokens, telling_->text_size);
  }
  end_sample(request, index, reason);
  tell();
  return {};
}

void Engine::tell() {
  std::vector<Event> events;
  events.swap(events_);
  for (Event& event : events) {
    Request& request = *event.request;
    // Aborted by a listener meanwhile.
    if (request.told) continue;
    if (!event.done) {
      // Ended by a listener after an earlier token of the same step.
      if (event.tokens > request.samples[event.index].out.tokens.size()) continue;
      telling_ = &event;
      request.listener.on_token({request.id, event.sample, event.token, event.text, event.finish});
      telling_ = nullptr;
      continue;
    }
    request.told = true;
    if (!request.listener.on_done) continue;
    Completion done;
    done.id = request.id;
    done.prompt_logprobs = std::move(request.prompt_logprobs);
    done.prompt_tokens = std::ssize(request.spec.prompt);
    done.cached_tokens = request.cached;
    for (Generation& sample : request.samples) done.samples.push_back(std::move(sample.out));
    request.listener.on_done(std::move(done));
  }
}

std::unique_ptr<Transformer> Engine::serve(std::unique_ptr<Transformer> model) {
  if (!options_.executor) return std::exchange(model_, std::move(model));
  options_.executor->install(model_, std::move(model));
  return nullptr;
}

void Engine::install(std::unique_ptr<Transformer> model, const VersionTag& version, SwapMode mode) {
  PreparedWeights old(serve(std::move(model)));
  version_ = version;
  scheduler_.change_version(version, mode != SwapMode::InFlight);
  scheduler_.pause(false);
  next_.reset();
  ++stats_.swaps;
  if (options_.retire && old.model_ != nullptr) options_.retire(std::move(old));
}

void Engine::install_if_drained() {
  if (next_ == nullptr || scheduler_.started() > 0) return;
  auto next = std::move(next_);
  install(std::move(next->model), next->version, SwapMode::Drain);
}

Result<PreparedWeights> Engine::prepare_weights(Parameters weights) const {
  RETURN_IF_ERROR(check_tensors(parameter_specs(config_), dtype_, weights));
  if (options_.executor) {
    ASSIGN_OR_RETURN(weights, options_.executor->place(config_, weights));
  }
  auto model =
      std::make_unique<Transformer>(config_, std::move(weights), nullptr, options_.attention);
  if (options_.linear) {
    ASSIGN_OR_RETURN(auto linear, options_.linear(*model));
    model->use(std::move(linear));
  }
  return PreparedWeights(std::move(model));
}

Result<PreparedWeights> Engine::prepare_weights(const TensorReader& reader) const {
  ASSIGN_OR_RETURN(Parameters weights, load_parameters(config_, reader, dtype_));
  return prepare_weights(std::move(weights));
}

Status Engine::swap_weights(PreparedWeights weights, const VersionTag& version, SwapMode mode) {
  if (version == version_) {
    return error(Code::AlreadyExists, "{} serves already", version.to_string());
  }
  if (mode != SwapMode::Drain) {
    install(std::move(weights.model_), version, mode);
    return {};
  }
  next_ = std::make_unique<Next>();
  next_->model = std::move(weights.model_);
  next_->version = version;
  scheduler_.pause(true);
  install_if_drained();
  return {};
}

Status Engine::swap_weights(Parameters weights, const VersionTag& version, SwapMode mode) {
  ASSIGN_OR_RETURN(PreparedWeights prepared, prepare_weights(std::move(weights)));
  return swap_weights(std::move(prepared), version, mode);
}

Status Engine::swap_weights(const TensorReader& reader, const VersionTag& version, SwapMode mode) {
  ASSIGN_OR_RETURN(PreparedWeights prepared, prepare_weights(reader));
  return swap_weights(std::move(prepared), version, mode);
}

int64_t Engine::longest_sequence() const noexcept {
  const KvSpace& space = scheduler_.space();
  return std::min(limits_.max_length, int64_t{space.blocks()} * space.block_size());
}

EngineStats Engine::stats() const {
  EngineStats stats = stats_;
  stats.scheduler = scheduler_.stats();
  stats.free_blocks = scheduler_.space().free_blocks();
  stats.blocks = scheduler_.space().blocks();
  return stats;
}

Status Engine::check() const {
  RETURN_IF_ERROR(scheduler_.check());
  if (places_.empty() != scheduler_.idle() || places_.empty() != requests_.empty()) {
    return error(Code::Internal, "{} requests with {} sequences", requests_.size(), places_.size());
  }
  if (cache_->states() > std::ssize(places_)) {
    return error(Code::Internal, "{} states of {} sequences", cache_->states(), places_.size());
  }
  if (requests_.empty() && scheduler_.space().free_blocks() != scheduler_.space().blocks()) {
    return error(Code::Internal, "{} of {} blocks are free without a request",
                 scheduler_.space().free_blocks(), scheduler_.space().blocks());
  }
  return {};
}

}  // namespace sluice
