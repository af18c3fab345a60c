#include "workers/actor_critic_learner.h"

#include "algorithms/ops/gae.h"
#include "trainer/autograd_learner.h"
#include "trainer/fused_learner.h"
#include "workers/policy_model.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace sluice {
namespace {

/// The observation is one tensor here: everything else lies one further.
constexpr int64_t kObs = 0;
constexpr int64_t column(Trajectory::Column c) { return 1 + c; }

/// Normalised rewards are clamped to this many standard deviations of the return.
constexpr float kRewardClip = 10.0F;

/// An AutogradLearner and the algorithm it borrows.
class OwningAutogradLearner final : public Learner {
 public:
  OwningAutogradLearner(ActorCritic& net, std::unique_ptr<Algorithm> algorithm,
                        const PpoConfig& config, RandomKey key)
      : algorithm_(std::move(algorithm)),
        learner_(net, *algorithm_, update_config(config), key, config.target_kl) {}

  Status begin(const LearnBatch& batch, double rate) override {
    return learner_.begin(batch, rate);
  }
  bool step() override { return learner_.step(); }
  [[nodiscard]] Stats stats() const override { return learner_.stats(); }
  [[nodiscard]] std::string save() const override { return learner_.save(); }
  Status load(std::string_view bytes) override { return learner_.load(bytes); }

 private:
  std::unique_ptr<Algorithm> algorithm_;
  AutogradLearner learner_;
};

void check_sizes(const LearnerSetup& setup, const PpoConfig& config,
                 std::vector<std::string>& problems) {
  const int64_t rows = setup.batch * setup.horizon;
  if (config.minibatches > 0 && rows % config.minibatches != 0) {
    problems.push_back(fmt::format(
        "a batch of {} chunks x {} steps = {} rows does not divide into {} minibatches ({} rows "
        "are left over)",
        setup.batch, setup.horizon, rows, config.minibatches, rows % config.minibatches));
  }
}

LearnerFactory factory(
    std::string name, const PpoConfig& config,
    std::function<std::unique_ptr<Learner>(ActorCritic&, const PpoConfig&, const LearnerSetup&)>
        make) {
  auto shared = std::make_shared<PpoConfig>(config);
  LearnerFactory out;
  out.name = name;
  out.make = [shared,
              make](const LearnerSetup& setup) -> Result<std::unique_ptr<TrajectoryLearner>> {
    ASSIGN_OR_RETURN(const ActorCriticSpec spec, actor_critic_spec(setup.env, setup.net));
    return std::unique_ptr<TrajectoryLearner>(std::make_unique<ActorCriticLearner>(
        spec, setup, *shared,
        [&](ActorCritic& net, const LearnerSetup& s) { return make(net, *shared, s); }));
  };
  out.check = [shared](const LearnerSetup& setup, std::vector<std::string>& problems) {
    check_sizes(setup, *shared, problems);
  };
  out.bind = [shared, name](ConfigBinder& b) { b.section(name, *shared); };
  return out;
}

}  // namespace

LearnerFactory ppo(const PpoConfig& config) {
  return factory(
      "ppo", config, [](ActorCritic& net, const PpoConfig& c, const LearnerSetup& setup) {
        return std::make_unique<FusedPpoLearner>(net, c, setup.key.split("order"), setup.threads);
      });
}

LearnerFactory with_algorithm(std::function<std::unique_ptr<Algorithm>()> make,
                              const PpoConfig& config) {
  return factory(
      "update", config, [make](ActorCritic& net, const PpoConfig& c, const LearnerSetup& setup) {
        return std::make_unique<OwningAutogradLearner>(net, make(), c, setup.key.split("order"));
      });
}

ActorCriticLearner::ActorCriticLearner(const ActorCriticSpec& spec, const LearnerSetup& setup,
                                       const PpoConfig& config, const MakeUpdate& make_update)
    : config_(config),
      normalise_observations_(setup.net.normalise_observations),
      width_(spec.observation),
      iterations_(setup.max_steps > 0 ? (setup.max_steps + setup.batch * setup.horizon - 1) /
                                            (setup.batch * setup.horizon)
                                      : 0),
      net_(spec, setup.key.split("init")),
      update_(make_update(net_, setup)),
      observations_(spec.observation),
      rewards_(config.gamma) {
  const auto rows = static_cast<size_t>(setup.batch * setup.horizon);
  observation_.resize(rows * static_cast<size_t>(width_));
  if (spec.head.discrete()) {
    choice_.resize(rows);
  } else {
    action_.resize(rows * static_cast<size_t>(spec.head.size));
  }
  for (auto* column : {&log_prob_, &value_, &advantage_, &returns_}) column->resize(rows);
  reward_.resize(static_cast<size_t>(setup.horizon));
  refresh_normaliser();
}

void ActorCriticLearner::refresh_normaliser() {
  if (!normalise_observations_) return;
  mean_.assign(static_cast<size_t>(width_), 0);
  scale_.assign(static_cast<size_t>(width_), 1);
  if (observations_.count() == 0) return;
  for (int64_t i = 0; i < width_; ++i) {
    const auto at = static_cast<size_t>(i);
    mean_[at] = static_cast<float>(observations_.mean()[at]);
    scale_[at] = static_cast<float>(1 / std::sqrt(observations_.variance(i) + 1e-8));
  }
}

Status ActorCriticLearner::begin(std::span<const std::shared_ptr<const Trajectory>> chunks) {
  int64_t row = 0;
  for (const auto& chunk : chunks) {
    if (row + chunk->steps.rows() > static_cast<int64_t>(log_prob_.size())) {
      return invalid_argument("the chunks have more than the {} rows of a batch", log_prob_.size());
    }
    add_chunk(*chunk, row);
    row += chunk->steps.rows();
  }
  LearnBatch batch;
  batch.rows = row;
  batch.observation = observation_.data();
  batch.choice = choice_.empty() ? nullptr : choice_.data();
  batch.action = action_.empty() ? nullptr : action_.data();
  batch.log_prob = log_prob_.data();
  batch.value = value_.data();
  batch.advantage = advantage_.data();
  batch.returns = returns_.data();
  const double rate = config_.anneal && iterations_ > 0
                          ? annealed_rate(config_, std::min(updates_, iterations_ - 1), iterations_)
                          : config_.learning_rate;
  return update_->begin(batch, rate);
}

/// False when chunks of this slot were lost or dropped since the last one.
bool ActorCriticLearner::follows_on(const Trajectory& chunk) {
  const auto slot = static_cast<size_t>(chunk.slot);
  if (next_chunk_.size() <= slot) next_chunk_.resize(slot + 1, chunk.number);
  return std::exchange(next_chunk_[slot], chunk.number + 1) == chunk.number;
}

void ActorCriticLearner::add_chunk(const Trajectory& chunk, int64_t row) {
  const Batch& steps = chunk.steps;
  const int64_t n = steps.rows();
  const auto at = static_cast<size_t>(row);
  const auto* seen = steps.data<float>(kObs);
  float* observation = observation_.data() + row * width_;
  if (normalise_observations_) {
    normalise_observations(seen, n, mean_, scale_, observation);
    observations_.update(seen, n);
  } else {
    std::memcpy(observation, seen, static_cast<size_t>(n * width_) * sizeof(float));
  }
  if (choice_.empty()) {
    const int64_t size = net_.spec().head.size;
    std::memcpy(action_.data() + row * size, steps.data<float>(column(Trajectory::kAction)),
                static_cast<size_t>(n * size) * sizeof(float));
  } else {
    std::memcpy(choice_.data() + row, steps.data<int64_t>(column(Trajectory::kAction)),
                static_cast<size_t>(n) * sizeof(int64_t));
  }
  std::memcpy(log_prob_.data() + at, steps.data<float>(column(Trajectory::kLogProb)),
              static_cast<size_t>(n) * sizeof(float));
  std::memcpy(value_.data() + at, steps.data<float>(column(Trajectory::kValue)),
              static_cast<size_t>(n) * sizeof(float));

  const float* reward = steps.data<float>(column(Trajectory::kReward));
  if (config_.normalise_reward) {
    const auto* terminated = steps.data<uint8_t>(column(Trajectory::kTerminated));
    const auto* truncated = steps.data<uint8_t>(column(Trajectory::kTruncated));
    ended_.resize(static_cast<size_t>(n));
    for (int64_t t = 0; t < n; ++t) {
      ended_[static_cast<size_t>(t)] = terminated[t] | truncated[t];
    }
    if (!follows_on(chunk)) rewards_.cut(chunk.slot);
    rewards_.normalise(chunk.slot, reward, ended_, kRewardClip, reward_.data());
    reward = reward_.data();
  }
  gae({reward, steps.data<float>(column(Trajectory::kValue)),
       steps.data<uint8_t>(column(Trajectory::kTerminated)),
       steps.data<uint8_t>(column(Trajectory::kTruncated)),
       steps.data<float>(column(Trajectory::kBootstrap))},
      n, config_.gamma, config_.gae_lambda, advantage_.data() + at, returns_.data() + at);
}

Result<bool> ActorCriticLearner::step() {
  if (update_->step()) return true;
  ++updates_;
  RETURN_IF_ERROR(check_finite());
  refresh_normaliser();
  return false;
}

Status ActorCriticLearner::check_finite() const {
  for (const auto& [name, value] : update_->stats()) {
    if (!std::isfinite(value)) {
      return error(Code::DataLoss,
                   "update {} ended with {} = {}; the learning rate may be too high", updates_,
                   name, value);
    }
  }
  for (int64_t i = 0; i < net_.parameters().size(); ++i) {
    if (!std::isfinite(net_.parameters().data()[i])) {
      return error(Code::DataLoss, "update {} left a parameter that is not finite", updates_);
    }
  }
  return {};
}

TrajectoryLearner::Stats ActorCriticLearner::stats() const { return update_->stats(); }

Weights ActorCriticLearner::weights() const {
  Weights out;
  for (const auto& entry : net_.parameters().entries()) {
    out.tensors.emplace_back(entry.name, net_.parameters().view(entry).clone());
  }
  if (normalise_observations_) {
    out.tensors.emplace_back(kObsMean, at::tensor(mean_));
    out.tensors.emplace_back(kObsScale, at::tensor(scale_));
  }
  return out;
}

Status ActorCriticLearner::save(Snapshot& out) const {
  out.put("update", update_->save());
  out.put_value("updates", updates_);
  const auto observations = observations_.save();
  out.put_array("observations", std::span<const double>(observations));
  const auto rewards = rewards_.save();
  out.put_array("rewards", std::span<const double>(rewards));
  out.put_array("next_chunk", std::span<const int64_t>(next_chunk_));
  return {};
}

Status ActorCriticLearner::load(const Snapshot& in) {
  ASSIGN_OR_RETURN(const auto update, in.get("update"));
  RETURN_IF_ERROR(update_->load(update));
  RETURN_IF_ERROR(in.get_value("updates", updates_));
  auto observations = observations_.save();
  RETURN_IF_ERROR(in.get_array("observations", std::span(observations)));
  RETURN_IF_ERROR(observations_.load(observations));
  ASSIGN_OR_RETURN(const auto reward_bytes, in.get("rewards"));
  std::vector<double> rewards(reward_bytes.size() / sizeof(double));
  RETURN_IF_ERROR(in.get_array("rewards", std::span(rewards)));
  RETURN_IF_ERROR(rewards_.load(rewards));
  ASSIGN_OR_RETURN(const auto chunk_bytes, in.get("next_chunk"));
  next_chunk_.resize(chunk_bytes.size() / sizeof(int64_t));
  RETURN_IF_ERROR(in.get_array("next_chunk", std::span(next_chunk_)));
  refresh_normaliser();
  return {};
}

}  // namespace sluice
