#include "inference/speculation/neural/model_drafter.h"

#include "inference/engine/paged_attention_op.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

namespace sluice {
namespace {

/// Keys and values are stored as the weights are.
KvFormat draft_kv_format(const Transformer& model) {
  const auto dtype = model.parameters().entries().front().tensor.scalar_type();
  return dtype == at::kBFloat16 ? KvFormat::Bf16 : KvFormat::Fp32;
}

}  // namespace

Result<std::shared_ptr<ModelDrafter>> ModelDrafter::create(const Transformer& model,
                                                           Options options) {
  TransformerConfig config = model.config();
  if (config.head != HeadKind::Language) return invalid_argument("it has no language head");
  if (options.vocabulary < 1 || config.vocab_size < options.vocabulary) {
    return invalid_argument("it has {} tokens, the model that it guesses for {}", config.vocab_size,
                            options.vocabulary);
  }
  const auto attends = [](const LayerConfig& l) { return l.mixer == MixerKind::Attention; };
  if (!std::ranges::all_of(config.layers, attends)) {
    return invalid_argument("it has linear-attention layers, which cannot take a guess back");
  }
  const bool dynamic = config.rope.type == RopeType::Dynamic && config.rope.dynamic_length == 0;
  if (dynamic) config.rope.dynamic_length = config.max_positions;
  Transformer own(config, model.parameters(), nullptr, std::make_shared<PagedAttentionOp>());
  if (options.linear) {
    ASSIGN_OR_RETURN(auto linear, options.linear(own));
    own.use(std::move(linear));
  }
  int64_t blocks = options.blocks;
  if (blocks == 0) {
    const int64_t each =
        PagedKvCache::block_bytes(config, options.block_size, draft_kv_format(model));
    blocks = std::clamp<int64_t>(options.kv_bytes / std::max<int64_t>(1, each), 1, 1 << 24);
  }
  return std::shared_ptr<ModelDrafter>(
      new ModelDrafter(std::move(own), std::move(options), static_cast<int32_t>(blocks)));
}

ModelDrafter::ModelDrafter(Transformer model, Options options, int32_t blocks)
    : options_(std::move(options)),
      model_(std::move(model)),
      space_(blocks, options_.block_size),
      cache_(model_.config(), blocks, options_.block_size, draft_kv_format(model_)) {}

ModelDrafter::Lane ModelDrafter::begin(DraftQuery& query) {
  Lane lane;
  lane.query = &query;
  lane.sequence = &sequences_[query.sequence];
  Sequence& own = *lane.sequence;
  own.used = call_;
  // Guesses that were wrong lie behind what both have; the newest token is computed in any case.
  const auto known = query.tokens.first(query.tokens.size() - 1);
  const auto same = std::ranges::mismatch(own.computed, known).in1 - own.computed.begin();
  own.computed.resize(static_cast<size_t>(same));
  space_.truncate(own.table, same);
  const int64_t left = std::ssize(query.tokens) - same;
  const auto next = query.tokens.subspan(static_cast<size_t>(same),
                                         static_cast<size_t>(std::min(left, options_.catch_up)));
  lane.feed.assign(next.begin(), next.end());
  lane.draws = left <= options_.catch_up;
  return lane;
}

bool ModelDrafter::make_room(Lane& lane) {
  Sequence& own = *lane.sequence;
  const auto begin = std::ssize(own.computed);
  while (!space_.reserve(own.table, begin, begin + std::ssize(lane.feed))) {
    Sequence* oldest = nullptr;
    for (auto& [id, other] : sequences_) {
      if (other.used == call_ || other.table.blocks.empty()) continue;
      if (oldest == nullptr || other.used < oldest->used) oldest = &other;
    }
    if (oldest == nullptr) return false;
    space_.release(oldest->table, false);
    oldest->computed.clear();
  }
  return true;
}

void ModelDrafter::compute(std::vector<Lane>& lanes) {
  std::vector<std::vector<int64_t>> tokens;
  std::vector<int64_t> starts, last;
  std::vector<PagedKvCache::Row> rows;
  int64_t end = -1;
  for (const Lane& lane : lanes) {
    const auto begin = std::ssize(lane.sequence->computed);
    tokens.push_back(lane.feed);
    starts.push_back(begin);
    rows.push_back({lane.query->sequence, begin, lane.sequence->table.blocks});
    end += std::ssize(lane.feed);
    if (lane.draws) last.push_back(end);
  }
  cache_.begin(std::move(rows));
  const at::Tensor hidden = model_.forward(pack(tokens, starts), &cache_);
  for (Lane& lane : lanes) {
    std::vector<int64_t>& computed = lane.sequence->computed;
    computed.insert(computed.end(), lane.feed.begin(), lane.feed.end());
  }
  std::erase_if(lanes, [](const Lane& lane) { return !lane.draws; });
  if (lanes.empty()) return;
  const at::Tensor logits = model_.logits(hidden.index_select(0, at::tensor(last, at::kLong)))
                                .to(at::kFloat)
                                .contiguous();
  const auto* scores = static_cast<const float*>(logits.const_data_ptr());
  const int64_t stride = logits.size(1);
  int64_t row = 0;
  std::erase_if(lanes, [&](Lane& lane) {
    const float* own = scores + row++ * stride;
    return !draw(lane, {own, static_cast<size_t>(options_.vocabulary)});
  });
}

bool ModelDrafter::draw(Lane& lane, std::span<const float> scores) {
  DraftQuery& query = *lane.query;
  // What the engine looks at beside the scores changes with every token; leaving it out makes a
  // guess worse, not wrong.
  params_ = *query.sampling;
  params_.repetition_penalty = 1;
  params_.presence_penalty = params_.frequency_penalty = 0;
  params_.min_tokens = 0;
  params_.top_logprobs = 0;
  const auto drawn = sampler_.sample(scores, params_, {}, query.seed, query.sample,
                                     query.position + query.out.size());
  if (!drawn.ok()) return false;
  query.out.push_back(drawn->token);
  lane.feed.assign(1, drawn->token);
  return std::ssize(query.out) < query.most;
}

void ModelDrafter::draft(std::span<DraftQuery> queries) {
  const at::NoGradGuard no_grad;
  ++call_;
  const int64_t context = context_length(model_.config());
  std::vector<Lane> lanes;
  for (DraftQuery& query : queries) {
    if (query.most < 1 || query.tokens.empty()) continue;
    if (std::ssize(query.tokens) + query.most > context) continue;
    lanes.push_back(begin(query));
  }
  while (!lanes.empty()) {
    std::erase_if(lanes, [&](Lane& lane) { return !make_room(lane); });
    space_.commit();
    if (!lanes.empty()) compute(lanes);
  }
}

void ModelDrafter::finished(int64_t sequence, std::span<const int64_t> /*tokens*/,
                            int64_t /*prompt*/) {
  const auto found = sequences_.find(sequence);
  if (found == sequences_.end()) return;
  space_.release(found->second.table, false);
  sequences_.erase(found);
}

Status ModelDrafter::check() const {
  std::vector<const BlockTable*> tables;
  for (const auto& [id, own] : sequences_) tables.push_back(&own.table);
  return space_.check(tables);
}

}  // namespace sluice
