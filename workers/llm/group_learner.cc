#include "workers/llm/group_learner.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace sluice {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

at::Tensor tensor_of(const std::vector<float>& values) {
  return at::tensor(values, at::TensorOptions().dtype(at::kFloat));
}

bool rule_needs(const PolicyLossConfig& loss) { return loss.kl_coef > 0; }

}  // namespace

void GroupLearnerConfig::bind(ConfigBinder& b) {
  b.field("advantage", advantage, "how rewards of a group become advantages",
          {{"grpo", AdvantageRule::Grpo},
           {"drgrpo", AdvantageRule::DrGrpo},
           {"rloo", AdvantageRule::Rloo},
           {"leave_one_out", AdvantageRule::LeaveOneOut},
           {"opo", AdvantageRule::Opo},
           {"gpg", AdvantageRule::Gpg},
           {"maxrl", AdvantageRule::MaxRl},
           {"pass_k", AdvantageRule::PassK}});
  b.field("advantage_epsilon", advantage_epsilon, "added to the standard deviation",
          Range::between(0, 1));
  b.field("mask_truncated", mask_truncated, "leave out completions that the token limit cut off");
  b.field("epochs", epochs, "passes over a batch", Range::between(1, 1000));
  b.field("minibatches", minibatches, "updates per pass", Range::between(1, 1 << 20));
  b.section("loss", loss);
  b.section("learner", learner);
}

void GroupLearnerConfig::check(int64_t groups, std::vector<std::string>& problems) const {
  if (groups % minibatches != 0) {
    problems.push_back(
        fmt::format("{} groups of a batch do not divide into {} minibatches", groups, minibatches));
  }
  for (const Status& status : {loss.check(), learner.check()}) {
    if (!status.ok()) problems.push_back(status.message());
  }
}

GroupLearner::GroupLearner(const GroupLearnerConfig& config, std::unique_ptr<LmLearner> learner,
                           std::unique_ptr<LmLearner> reference, const Clock& clock)
    : config_(config),
      learner_(std::move(learner)),
      reference_(std::move(reference)),
      clock_(clock) {
  SLUICE_CHECK(reference_ || !rule_needs(config.loss)) << "a KL term needs reference weights";
}

Status GroupLearner::begin(std::span<const std::shared_ptr<const Group>> items) {
  began_ = clock_.now();
  describe(items);
  std::vector<double> rewards;
  std::vector<int64_t> groups;
  std::vector<double> lengths;
  for (size_t g = 0; g < items.size(); ++g) {
    for (const TokenRollout& rollout : items[g]->rollouts) {
      const bool counts = !rollout.score.failed && !rollout.tokens.empty();
      rewards.push_back(counts ? rollout.score.reward : kNone);
      groups.push_back(static_cast<int64_t>(g));
      lengths.push_back(static_cast<double>(rollout.tokens.size()));
    }
  }
  const RolloutAdvantages advantages = group_advantages(
      config_.advantage, {rewards, groups, lengths, {}}, config_.advantage_epsilon);
  const auto all = static_cast<double>(std::max<int64_t>(1, advantages.counts.groups));
  described_.emplace_back("zero_variance",
                          static_cast<double>(advantages.counts.zero_variance) / all);
  described_.emplace_back("groups_lost", static_cast<double>(advantages.counts.lost) / all);

  parts_.clear();
  size_t i = 0;
  for (const auto& item : items) {
    Part part;
    part.tokens.prompt = item->prompt.tokens;
    std::vector<float> behaviour;
    for (const TokenRollout& rollout : item->rollouts) {
      const size_t at = i++;
      if (advantages.valid[at] == 0 || (config_.mask_truncated && rollout.truncated)) continue;
      part.tokens.responses.push_back(rollout.tokens);
      part.advantage.push_back(advantages.advantage[at]);
      part.moves |= advantages.advantage[at] != 0;
      behaviour.insert(behaviour.end(), rollout.logprobs.begin(), rollout.logprobs.end());
    }
    part.behaviour = tensor_of(behaviour);
    const bool always = config_.loss.kl_coef > 0 || config_.loss.entropy_coef > 0;
    part.moves = !part.tokens.responses.empty() && (part.moves || always);
    parts_.push_back(std::move(part));
  }
  const bool many = config_.epochs * config_.minibatches > 1;
  std::vector<TrainSequence> sequences;
  if (many || reference_) {
    for (const Part& part : parts_) {
      if (part.moves) sequences.push_back(part.tokens);
    }
  }
  const auto give = [&](const std::vector<at::Tensor>& scored, at::Tensor Part::*member) {
    size_t next = 0;
    for (Part& part : parts_) {
      if (part.moves) part.*member = scored[next++];
    }
  };
  if (many && !sequences.empty()) {
    ASSIGN_OR_RETURN(const auto scored, learner_->logprobs(sequences));
    give(scored, &Part::old);
  }
  if (reference_ && !sequences.empty()) {
    ASSIGN_OR_RETURN(const auto scored, reference_->logprobs(sequences));
    give(scored, &Part::reference);
  }
  next_ = 0;
  policy_ = {};
  loss_ = grad_norm_ = 0;
  updates_ = rows_ = 0;
  return {};
}

/// What is known of a batch before it is trained on.
void GroupLearner::describe(std::span<const std::shared_ptr<const Group>> items) {
  double rollouts = 0;
  double judged = 0;
  double reward = 0;
  double tokens = 0;
  double truncated = 0;
  double entropy = 0;
  std::map<std::string, double> parts;
  for (const auto& item : items) {
    for (const TokenRollout& rollout : item->rollouts) {
      rollouts += 1;
      tokens += static_cast<double>(rollout.tokens.size());
      truncated += rollout.truncated ? 1 : 0;
      entropy += rollout.entropy;
      if (rollout.score.failed) continue;
      judged += 1;
      reward += rollout.score.reward;
      for (const auto& [name, value] : rollout.score.parts) parts[name] += value;
    }
  }
  described_.clear();
  rollouts = std::max(rollouts, 1.0);
  judged = std::max(judged, 1.0);
  described_.emplace_back("reward", reward / judged);
  for (const auto& [name, value] : parts) described_.emplace_back("reward." + name, value / judged);
  described_.emplace_back("completion_tokens", tokens / rollouts);
  described_.emplace_back("truncated", truncated / rollouts);
  described_.emplace_back("failed", 1 - judged / rollouts);
  described_.emplace_back("entropy", entropy / rollouts);
}

Result<bool> GroupLearner::step() {
  const int64_t updates = config_.epochs * config_.minibatches;
  const auto size = std::ssize(parts_) / config_.minibatches;
  const int64_t first = next_ % config_.minibatches * size;
  RETURN_IF_ERROR(
      update(std::span(parts_).subspan(static_cast<size_t>(first), static_cast<size_t>(size))));
  if (++next_ < updates) return true;
  finish();
  return false;
}

TokenBatch GroupLearner::batch_of(const MicroOutputs& outputs, std::span<const Part> parts,
                                  std::span<const size_t> groups) const {
  std::vector<float> advantage;
  std::vector<at::Tensor> behaviour;
  std::vector<at::Tensor> old;
  std::vector<at::Tensor> reference;
  for (const size_t g : groups) {
    const Part& part = parts[g];
    for (size_t r = 0; r < part.tokens.responses.size(); ++r) {
      advantage.insert(advantage.end(), part.tokens.responses[r].size(),
                       static_cast<float>(part.advantage[r]));
    }
    behaviour.push_back(part.behaviour);
    if (part.old.defined()) old.push_back(part.old);
    if (part.reference.defined()) reference.push_back(part.reference);
  }
  TokenBatch batch;
  batch.logprob = outputs.logprob;
  batch.entropy = outputs.entropy;
  batch.sequence = outputs.sequence;
  batch.advantage = tensor_of(advantage);
  batch.behaviour_logprob = at::cat(behaviour);
  if (!old.empty()) batch.old_logprob = at::cat(old);
  if (!reference.empty()) batch.reference_logprob = at::cat(reference);
  return batch;
}

Status GroupLearner::update(std::span<const Part> parts) {
  // Every token counts in the denominator, also of groups whose gradient is known to be zero.
  Denominator denominator;
  std::vector<TrainSequence> sequences;
  std::vector<size_t> which;
  for (size_t g = 0; g < parts.size(); ++g) {
    const Part& part = parts[g];
    for (const auto& response : part.tokens.responses) {
      const auto length = static_cast<int64_t>(response.size());
      denominator.add({length, 1, length});
    }
    if (!part.moves) continue;
    sequences.push_back(part.tokens);
    which.push_back(g);
  }
  if (sequences.empty()) return {};
  const MicroLoss loss = [&](const MicroOutputs& outputs, std::span<const size_t> groups) {
    std::vector<size_t> mine;
    for (const size_t g : groups) mine.push_back(which[g]);
    TokenLoss out = policy_loss(config_.loss, batch_of(outputs, parts, mine), denominator);
    policy_.add(out.stats);
    return out.total;
  };
  ASSIGN_OR_RETURN(last_, learner_->step(sequences, loss, config_.loss.entropy_coef > 0));
  rows_ += last_.rows;
  if (last_.skipped) return {};
  ++updates_;
  loss_ += last_.loss;
  grad_norm_ += last_.grad_norm;
  return {};
}

void GroupLearner::finish() {
  stats_ = described_;
  const auto updates = static_cast<double>(std::max<int64_t>(1, updates_));
  stats_.emplace_back("loss", loss_ / updates);
  stats_.emplace_back("grad_norm", grad_norm_ / updates);
  stats_.emplace_back("learning_rate", last_.learning_rate);
  stats_.emplace_back("updates", static_cast<double>(learner_->steps()));
  stats_.emplace_back("skipped_updates", static_cast<double>(last_.skipped_steps));
  for (const auto& stat : policy_.means()) {
    if (stat.first != "entropy") stats_.push_back(stat);
  }
  const double seconds = static_cast<double>(clock_.now() - began_) * 1e-9;
  stats_.emplace_back("train_seconds", seconds);
  if (seconds > 0)
    stats_.emplace_back("train_rows_per_second", static_cast<double>(rows_) / seconds);
}

Weights GroupLearner::weights() const {
  Weights out;
  const Transformer& model = learner_->model();
  for (const auto& entry : to_checkpoint(model.config(), model.parameters())) {
    out.tensors.emplace_back(entry.name, entry.tensor.detach().clone());
  }
  return out;
}

Status GroupLearner::save(Snapshot& out) const {
  for (const auto& entry : learner_->state()) {
    const at::Tensor tensor = entry.tensor.contiguous();
    out.put(entry.name,
            std::string(static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()));
  }
  return {};
}

Status GroupLearner::load(const Snapshot& in) {
  auto state = learner_->state();
  for (auto& entry : state) {
    ASSIGN_OR_RETURN(const auto bytes, in.get(entry.name));
    if (bytes.size() != entry.tensor.nbytes()) {
      return error(Code::DataLoss, "'{}' has {} bytes, not {}", entry.name, bytes.size(),
                   entry.tensor.nbytes());
    }
    entry.tensor = entry.tensor.contiguous();
    std::copy(bytes.begin(), bytes.end(), static_cast<char*>(entry.tensor.mutable_data_ptr()));
  }
  return learner_->load_state(state);
}

}  // namespace sluice
