#include "trainer/fused_learner.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace sluice {
namespace {

constexpr int64_t kBlock = Mlp::kBlockRows;
constexpr int64_t kUnit = 12;  // rows that fill the kernels' tiles in every variant

constexpr int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// Depends on the rows alone, never on the threads. Powers of two share out evenly.
int64_t chunks_of(int64_t rows) {
  return static_cast<int64_t>(
      std::bit_floor(static_cast<uint64_t>(std::clamp<int64_t>(rows / 256, 1, 32))));
}

// First row of part i of n, at whole units.
int64_t part(int64_t rows, int64_t i, int64_t n) {
  const int64_t units = (rows + kUnit - 1) / kUnit;
  return std::min(rows, units * i / n * kUnit);
}

}  // namespace

struct FusedPpoLearner::Worker {
  Worker(const ActorCritic& net, int64_t action_width)
      : scratch(net),
        x(static_cast<size_t>(kBlock * net.actor().padded_inputs())),
        action(static_cast<size_t>(kBlock * action_width)),
        columns(static_cast<size_t>(kBlock * 4)) {}
  ActorCriticScratch scratch;
  AlignedFloats x;
  AlignedFloats action;
  AlignedFloats columns;  ///< log_prob, value, advantage, return
};

FusedPpoLearner::FusedPpoLearner(ActorCritic& net, const PpoConfig& config, RandomKey key,
                                 int threads)
    : net_(net),
      config_(config),
      key_(key),
      pool_(threads),
      adam_(net.parameters().size(), update_config(config).adam, net.isa()),
      action_width_(net.spec().head.discrete() ? 1 : net.spec().head.size),
      gradient_(static_cast<size_t>(net.parameters().size())) {
  const int64_t used = net.spec().observation + action_width_ + 4;
  record_ = round_up(used, used <= 16 ? 16 : 8);
  gradient_floats_ = net.actor().gradient_floats() + net.critic().gradient_floats() +
                     round_up(net.spec().head.size, 16);
  for (int i = 0; i < threads; ++i)
    workers_.push_back(std::make_unique<Worker>(net, action_width_));
}

FusedPpoLearner::~FusedPpoLearner() = default;

Status FusedPpoLearner::begin(const LearnBatch& batch, double learning_rate) {
  const ActorCriticSpec& spec = net_.spec();
  RETURN_IF_ERROR(check_batch(batch, spec, config_.minibatches));
  const int64_t epochs = config_.epochs;
  rows_ = batch.rows;
  const int64_t size = rows_ / config_.minibatches;
  records_.resize(static_cast<size_t>(rows_ * record_));
  order_.resize(static_cast<size_t>(rows_ * epochs));
  moments_.assign(static_cast<size_t>(epochs * config_.minibatches), Moments{});
  chunks_ = chunks_of(size);
  gradients_.resize(static_cast<size_t>(chunks_ * gradient_floats_));
  sums_.resize(static_cast<size_t>(chunks_));

  const int64_t pieces = chunks_of(rows_);
  pool_.run(epochs + pieces, [&](int64_t task, int) {
    if (task < epochs) {
      epoch_order(key_, update_, task, rows_, order_.data() + task * rows_);
      return;
    }
    const int64_t end = rows_ * (task - epochs + 1) / pieces;
    for (int64_t r = rows_ * (task - epochs) / pieces; r < end; ++r) {
      float* to = records_.data() + r * record_;
      const float* x = batch.observation + r * spec.observation;
      for (int64_t i = 0; i < spec.observation; ++i) *to++ = x[i];
      if (spec.head.discrete()) {
        *to++ = static_cast<float>(batch.choice[r]);
      } else {
        for (int64_t i = 0; i < action_width_; ++i) *to++ = batch.action[r * action_width_ + i];
      }
      *to++ = batch.log_prob[r];
      *to++ = batch.value[r];
      *to++ = batch.advantage[r];
      *to++ = batch.returns[r];
    }
  });
  if (config_.normalise_advantage) {
    pool_.run(epochs * config_.minibatches, [&](int64_t task, int) {
      std::vector<float> advantage(static_cast<size_t>(size));
      const int64_t* order = order_.data() + task * size;
      for (int64_t i = 0; i < size; ++i)
        advantage[static_cast<size_t>(i)] = batch.advantage[order[i]];
      moments_[static_cast<size_t>(task)] = moments(advantage.data(), size);
    });
  }
  ++update_;
  next_ = 0;
  total_ = epochs * config_.minibatches;
  learning_rate_ = learning_rate;
  stats_ = {};
  return {};
}

bool FusedPpoLearner::step() {
  if (next_ >= total_) return false;
  const int64_t size = rows_ / config_.minibatches;
  const int64_t* order = order_.data() + next_ * size;
  const Moments& moments = moments_[static_cast<size_t>(next_)];
  ++next_;
  pool_.run(chunks_, [&](int64_t chunk, int thread) {
    work_chunk(*workers_[static_cast<size_t>(thread)], chunk, order, moments);
  });
  PpoSums sums;
  for (const PpoSums& s : sums_) sums.add(s);
  const auto n = static_cast<double>(size);
  ++stats_.minibatches;
  stats_.policy_loss += sums.policy / n;
  stats_.value_loss += sums.value / n;
  stats_.entropy += sums.entropy / n;
  stats_.approx_kl += sums.kl / n;
  stats_.clip_fraction += sums.clipped / n;
  if (kl_stop(config_, sums.kl / n)) {
    stats_.stopped_early = true;
    next_ = total_;
    return false;
  }

  // Sum the chunks in order, then back to the parameters' layout; the two trunks side by side.
  const int64_t actor_floats = net_.actor().gradient_floats();
  const int64_t critic_floats = net_.critic().gradient_floats();
  pool_.run(2, [&](int64_t task, int) {
    const int64_t first = task == 0 ? 0 : actor_floats;
    const int64_t count = task == 0 ? actor_floats : gradient_floats_ - actor_floats;
    float* sum = gradients_.data() + first;
    for (int64_t c = 1; c < chunks_; ++c) {
      const float* from = sum + c * gradient_floats_;
      for (int64_t i = 0; i < count; ++i) sum[i] += from[i];
    }
    if (task == 0) {
      net_.actor().unpad_gradient(sum, gradient_.data());
    } else {
      net_.critic().unpad_gradient(sum, gradient_.data() + net_.critic_offset());
      if (net_.log_std_offset() >= 0) {
        const float* from = sum + critic_floats;
        std::copy(from, from + net_.spec().head.size, gradient_.data() + net_.log_std_offset());
      }
    }
  });
  const double norm = global_norm(gradient_.data(), net_.parameters().size());
  stats_.grad_norm += norm;
  adam_.step(net_.parameters().data(), gradient_.data(), learning_rate_,
             clip_factor(norm, config_.max_grad_norm));
  pool_.run(2, [&](int64_t task, int) { task == 0 ? net_.sync_actor() : net_.sync_critic(); });
  return next_ < total_;
}

void FusedPpoLearner::work_chunk(Worker& worker, int64_t chunk, const int64_t* order,
                                 const Moments& moments) {
  const int64_t size = rows_ / config_.minibatches;
  const int64_t first = part(size, chunk, chunks_);
  const int64_t rows = part(size, chunk + 1, chunks_) - first;
  float* gradient = gradients_.data() + chunk * gradient_floats_;
  std::memset(gradient, 0, static_cast<size_t>(gradient_floats_) * sizeof(float));
  PpoSums& sums = sums_[static_cast<size_t>(chunk)];
  sums = {};
  const int64_t blocks = (rows + kBlock - 1) / kBlock;
  for (int64_t b = 0; b < blocks; ++b) {
    const int64_t from = part(rows, b, blocks);
    work_block(worker, order + first + from, part(rows, b + 1, blocks) - from, moments, gradient,
               sums);
  }
}

void FusedPpoLearner::work_block(Worker& worker, const int64_t* order, int64_t rows,
                                 const Moments& moments, float* gradient, PpoSums& sums) {
  const ActorCriticSpec& spec = net_.spec();
  const int64_t inputs = spec.observation;
  const int64_t stride = net_.actor().padded_inputs();
  float* columns = worker.columns.data();
  for (int64_t r = 0; r < rows; ++r) {
    const float* from = records_.data() + order[r] * record_;
    float* x = worker.x.data() + r * stride;
    for (int64_t i = 0; i < inputs; ++i) x[i] = from[i];
    from += inputs;
    for (int64_t i = 0; i < action_width_; ++i)
      worker.action[static_cast<size_t>(r * action_width_ + i)] = from[i];
    from += action_width_;
    for (int64_t i = 0; i < 4; ++i) columns[i * kBlock + r] = from[i];
  }
  MlpScratch& actor = worker.scratch.actor;
  MlpScratch& critic = worker.scratch.critic;
  net_.actor().forward_block(worker.x.data(), stride, rows, actor);
  net_.critic().forward_block(worker.x.data(), stride, rows, critic);
  PpoRows in;
  in.rows = rows;
  in.size = spec.head.size;
  in.head = actor.output();
  in.head_stride = actor.output_stride();
  in.log_std = net_.log_std();
  in.value = critic.output();
  in.value_stride = critic.output_stride();
  in.action = worker.action.data();
  in.old_log_prob = columns;
  in.old_value = columns + kBlock;
  in.advantage = columns + 2 * kBlock;
  in.returns = columns + 3 * kBlock;
  in.moments = moments;
  const int64_t critic_at = net_.actor().gradient_floats();
  const int64_t log_std_at = critic_at + net_.critic().gradient_floats();
  const double size = static_cast<double>(rows_ / config_.minibatches);
  sums.add(ppo_loss_grad(config_, in, size,
                         {actor.d_output(), actor.output_stride(), critic.d_output(),
                          critic.output_stride(), gradient + log_std_at},
                         net_.isa()));
  net_.actor().backward_block(worker.x.data(), stride, rows, actor, gradient);
  net_.critic().backward_block(worker.x.data(), stride, rows, critic, gradient + critic_at);
}

PpoStats FusedPpoLearner::ppo_stats() const noexcept {
  PpoStats s = stats_;
  const auto n = static_cast<double>(std::max<int64_t>(s.minibatches, 1));
  s.policy_loss /= n;
  s.value_loss /= n;
  s.entropy /= n;
  s.approx_kl /= n;
  s.clip_fraction /= n;
  s.grad_norm /= n;
  return s;
}

Learner::Stats FusedPpoLearner::stats() const {
  const PpoStats s = ppo_stats();
  return {{"policy_loss", s.policy_loss},
          {"value_loss", s.value_loss},
          {"entropy", s.entropy},
          {"approx_kl", s.approx_kl},
          {"clip_fraction", s.clip_fraction},
          {"grad_norm", s.grad_norm},
          {"minibatches", static_cast<double>(s.minibatches)},
          {"stopped_early", s.stopped_early ? 1.0 : 0.0}};
}

std::string FusedPpoLearner::save() const {
  return save_learner(net_.parameters(), adam_, update_);
}

Status FusedPpoLearner::load(std::string_view bytes) {
  RETURN_IF_ERROR(load_learner(bytes, net_.parameters(), adam_, update_));
  net_.sync();
  next_ = total_ = 0;
  return {};
}

}  // namespace sluice
