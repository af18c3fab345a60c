#include "algorithms/ops/advantages.h"

#include "dataflow/base/result.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace sluice {
namespace {

using Members = std::vector<size_t>;

struct Groups {
  std::vector<Members> members;  // in the order of first appearance, valid samples only
  GroupCounts counts;
  std::vector<uint8_t> valid;
};

bool uniform(const Members& members, std::span<const double> reward) {
  return std::all_of(members.begin(), members.end(),
                     [&](size_t i) { return reward[i] == reward[members[0]]; });
}

Groups group(const RewardSet& rewards) {
  const size_t n = rewards.reward.size();
  SLUICE_CHECK(rewards.group.size() == n)
      << rewards.group.size() << " group ids, " << n << " rewards";
  Groups result;
  result.valid.assign(n, 1);
  std::unordered_map<int64_t, size_t> index;
  for (size_t i = 0; i < n; ++i) {
    const auto [at, fresh] = index.try_emplace(rewards.group[i], result.members.size());
    if (fresh) result.members.emplace_back();
    if (std::isfinite(rewards.reward[i])) {
      result.members[at->second].push_back(i);
    } else {
      result.valid[i] = 0;
      ++result.counts.failed;
    }
  }
  result.counts.groups = static_cast<int64_t>(result.members.size());
  for (const Members& members : result.members) {
    result.counts.lost += members.empty() ? 1 : 0;
    result.counts.singletons += members.size() == 1 ? 1 : 0;
    result.counts.zero_variance += members.size() > 1 && uniform(members, rewards.reward) ? 1 : 0;
  }
  return result;
}

// Two passes: E[x^2] - E[x]^2 has no digits left when a group is nearly constant.
struct Spread {
  double mean = 0;
  double squares = 0;  // sum of (x - mean)^2
};

Spread spread(const Members& members, std::span<const double> reward, size_t skip) {
  Spread s;
  double n = 0;
  for (const size_t i : members) {
    if (i == skip) continue;
    s.mean += reward[i];
    n += 1;
  }
  s.mean /= n;
  for (const size_t i : members) {
    if (i != skip) s.squares += (reward[i] - s.mean) * (reward[i] - s.mean);
  }
  return s;
}

constexpr size_t kNone = static_cast<size_t>(-1);

double leave_one_out(const Members& members, std::span<const double> reward, size_t i) {
  const Spread others = spread(members, reward, i);
  const double difference = reward[i] - others.mean;
  Members rest;
  std::copy_if(members.begin(), members.end(), std::back_inserter(rest),
               [&](size_t j) { return j != i; });
  // Equal rewards have no spread, whatever rounding makes of their mean.
  if (uniform(rest, reward)) return difference;
  return difference / std::sqrt(others.squares / static_cast<double>(rest.size()));
}

// Rewards of two or more samples that are not all equal.
void compare(AdvantageRule rule, const Members& members, const RewardSet& rewards, double epsilon,
             double gpg_scale, std::vector<double>& advantage) {
  const auto& reward = rewards.reward;
  const double n = static_cast<double>(members.size());
  const Spread all = spread(members, reward, kNone);
  const double std = std::sqrt(all.squares / (n - 1));
  double baseline = all.mean;
  double scale = 1;
  switch (rule) {
    case AdvantageRule::Grpo:
      scale = 1 / (std + epsilon);
      break;
    case AdvantageRule::Rloo:
      scale = n / (n - 1);
      break;
    case AdvantageRule::Gpg:
      scale = gpg_scale;
      break;
    case AdvantageRule::MaxRl:
      scale = all.mean > 0 ? 1 / (all.mean + 1e-6) : 0;
      break;
    case AdvantageRule::Opo: {
      double weighted = 0;
      double length = 0;
      for (const size_t i : members) {
        weighted += rewards.length[i] * reward[i];
        length += rewards.length[i];
      }
      if (length > 0) baseline = weighted / length;
      break;
    }
    case AdvantageRule::LeaveOneOut:
      for (const size_t i : members) advantage[i] = leave_one_out(members, reward, i);
      return;
    case AdvantageRule::PassK: {
      Members order = members;
      std::stable_sort(order.begin(), order.end(),
                       [&](size_t a, size_t b) { return reward[a] > reward[b]; });
      advantage[order[0]] = (reward[order[0]] - reward[order[1]]) / (std + epsilon);
      return;
    }
    default:  // R - mean
      break;
  }
  for (const size_t i : members) advantage[i] = (reward[i] - baseline) * scale;
}

}  // namespace

bool compares_samples(AdvantageRule rule) noexcept {
  return rule != AdvantageRule::Gae && rule != AdvantageRule::ReinforcePlusPlus &&
         rule != AdvantageRule::ReMax;
}

GroupCounts count_groups(const RewardSet& rewards) { return group(rewards).counts; }

RolloutAdvantages group_advantages(AdvantageRule rule, const RewardSet& rewards, double epsilon) {
  SLUICE_CHECK(rule != AdvantageRule::Gae) << "GAE works on tokens: token_gae";
  const size_t n = rewards.reward.size();
  if (rule == AdvantageRule::Opo) SLUICE_CHECK(rewards.length.size() == n) << "OPO needs lengths";
  if (rule == AdvantageRule::ReMax) {
    SLUICE_CHECK(rewards.baseline.size() == n) << "ReMax needs the greedy samples' rewards";
  }
  Groups groups = group(rewards);
  RolloutAdvantages result;
  result.advantage.assign(n, 0);
  if (!compares_samples(rule)) {
    for (size_t i = 0; i < n; ++i) {
      const double baseline = rule == AdvantageRule::ReMax ? rewards.baseline[i] : 0;
      // A greedy sample that failed leaves nothing to compare with.
      if (groups.valid[i] != 0 && !std::isfinite(baseline)) {
        groups.valid[i] = 0;
        ++groups.counts.failed;
      }
      if (groups.valid[i] != 0) result.advantage[i] = rewards.reward[i] - baseline;
    }
  } else {
    const auto nonzero = std::count_if(rewards.reward.begin(), rewards.reward.end(),
                                       [](double r) { return std::isfinite(r) && r != 0; });
    const double valid = static_cast<double>(n - static_cast<size_t>(groups.counts.failed));
    const double gpg_scale = valid / static_cast<double>(std::max<int64_t>(nonzero, 1));
    for (const Members& members : groups.members) {
      if (members.size() < 2 || uniform(members, rewards.reward)) continue;
      compare(rule, members, rewards, epsilon, gpg_scale, result.advantage);
    }
  }
  result.valid = std::move(groups.valid);
  result.counts = groups.counts;
  return result;
}

}  // namespace sluice
