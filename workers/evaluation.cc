#include "workers/evaluation.h"

#include "envs/registry.h"
#include "workers/clip_action.h"
#include "workers/foreign_call.h"

#include <cmath>
#include <cstring>
#include <numeric>

namespace sluice {

double EpisodeScore::mean() const {
  if (returns.empty()) return 0;
  return std::accumulate(returns.begin(), returns.end(), 0.0) / static_cast<double>(returns.size());
}

double EpisodeScore::deviation() const {
  if (returns.empty()) return 0;
  double sum = 0;
  for (const double r : returns) sum += (r - mean()) * (r - mean());
  return std::sqrt(sum / static_cast<double>(returns.size()));
}

template <class F>
Status Evaluation::call(size_t episode, F env_call) {
  const int64_t step = score_.lengths[episode] + 1;
  const Status status =
      foreign_call(*where_, static_cast<int64_t>(episode), step, std::move(env_call));
  if (status.ok()) return status;
  return status.with_context(fmt::format("environment '{}', episode {}, step {}",
                                         envs_[episode]->spec().name, episode, step));
}

Result<Evaluation> Evaluation::begin(const std::string& env, int64_t episodes, RandomKey key,
                                     std::shared_ptr<Whereabouts> where) {
  Evaluation out;
  out.where_ = std::move(where);
  out.score_.returns.assign(static_cast<size_t>(episodes), 0);
  out.score_.lengths.assign(static_cast<size_t>(episodes), 0);
  for (int64_t i = 0; i < episodes; ++i) {
    ASSIGN_OR_RETURN(auto made, make_env(env));
    if (i == 0) {
      const EnvSpec& spec = made->spec();
      if (spec.observation.size() != 1) {
        return invalid_argument("environment '{}' observes {}; one tensor is needed", env,
                                spec.observation.to_string());
      }
      out.width_ = spec.observation.fields()[0].elements();
      out.action_bytes_ = spec.action.tensor().bytes();
      out.observations_.resize(static_cast<size_t>(episodes * out.width_));
      out.actions_.resize(static_cast<size_t>(episodes * out.action_bytes_));
    }
    void* row = out.observations_.data() + i * out.width_;
    out.envs_.push_back(std::move(made));
    const auto episode = static_cast<size_t>(i);
    RETURN_IF_ERROR(out.call(episode, [&] {
      return out.envs_[episode]->reset(key.split(static_cast<uint64_t>(i)).word(0),
                                       ObservationOut(&row, 1));
    }));
    out.alive_.push_back(i);
  }
  return out;
}

Result<bool> Evaluation::step(PolicyModel& model) {
  if (alive_.empty()) return false;
  const auto rows = static_cast<int64_t>(alive_.size());
  model.act_greedily(observations_.data(), rows, actions_.data());
  int64_t kept = 0;
  for (int64_t r = 0; r < rows; ++r) {
    const auto episode = static_cast<size_t>(alive_[static_cast<size_t>(r)]);
    // Rows move up over those that ended, so the next observation may go to an earlier row.
    void* row = observations_.data() + kept * width_;
    Transition transition;
    Env& env = *envs_[episode];
    const void* action =
        clip_action(env.spec().action, actions_.data() + r * action_bytes_, clipped_);
    RETURN_IF_ERROR(
        call(episode, [&] { return env.step(action, ObservationOut(&row, 1), transition); }));
    score_.returns[episode] += transition.reward;
    ++score_.lengths[episode];
    if (!transition.terminated && !transition.truncated) {
      alive_[static_cast<size_t>(kept++)] = static_cast<int64_t>(episode);
    }
  }
  alive_.resize(static_cast<size_t>(kept));
  return !alive_.empty();
}

}  // namespace sluice
