#include "algorithms/llm/llm_algorithm.h"
#include "dataflow/base/nearest.h"

#include <algorithm>

namespace sluice {
namespace {

struct Preset {
  const char* name;
  AdvantageRule rule;
  PolicyLoss loss;
  Aggregation aggregation;
  double clip_low, clip_high;
  void (*more)(LlmAlgorithm&);
};

constexpr auto kTokens = Aggregation::TokenMean;
constexpr auto kSequences = Aggregation::SequenceMeanTokenMean;
constexpr auto kSequenceSums = Aggregation::SequenceMeanTokenSum;
constexpr auto kScaled = Aggregation::SequenceMeanTokenScale;

void plain(LlmAlgorithm&) {}
void whitened(LlmAlgorithm& a) { a.advantage.whiten = true; }
void decoupled(LlmAlgorithm& a) { a.policy.correction.rule = CorrectionRule::Decoupled; }

// Sources of the numbers: docs/post-training.md.
const Preset kPresets[] = {
    {"ppo", AdvantageRule::Gae, PolicyLoss::Clip, kTokens, .2, .2,
     [](LlmAlgorithm& a) {
       a.advantage.whiten = true;
       a.group_size = 1;
     }},
    {"grpo", AdvantageRule::Grpo, PolicyLoss::Clip, kSequences, .2, .2, plain},
    {"drgrpo", AdvantageRule::DrGrpo, PolicyLoss::Clip, kScaled, .2, .2, plain},
    {"dapo", AdvantageRule::Grpo, PolicyLoss::Clip, kTokens, .2, .28,
     [](LlmAlgorithm& a) {
       a.dynamic_sampling = true;
       a.overlong_buffer = 4096;
       a.group_size = 16;
     }},
    {"gspo", AdvantageRule::Grpo, PolicyLoss::Gspo, kSequences, 3e-4, 4e-4, plain},
    {"rloo", AdvantageRule::Rloo, PolicyLoss::Clip, kSequenceSums, .2, .2,
     [](LlmAlgorithm& a) { a.advantage.kl_coef = .05; }},
    {"leave-one-out", AdvantageRule::LeaveOneOut, PolicyLoss::Clip, kTokens, .2, .2, plain},
    {"reinforce++", AdvantageRule::ReinforcePlusPlus, PolicyLoss::Clip, kTokens, .2, .2,
     [](LlmAlgorithm& a) {
       a.advantage.whiten = true;
       a.advantage.kl_coef = .01;
       a.group_size = 1;
     }},
    {"reinforce++-baseline", AdvantageRule::ReinforcePlusPlusBaseline, PolicyLoss::Clip, kTokens,
     .2, .2, whitened},
    {"remax", AdvantageRule::ReMax, PolicyLoss::Clip, kTokens, .2, .2,
     [](LlmAlgorithm& a) { a.group_size = 1; }},
    {"cispo", AdvantageRule::Grpo, PolicyLoss::Cispo, kTokens, 1, 4, plain},
    {"sapo", AdvantageRule::Grpo, PolicyLoss::Sapo, kSequences, .2, .2, plain},
    {"gmpo", AdvantageRule::Grpo, PolicyLoss::Gmpo, kSequences, .4, .4, plain},
    {"opo", AdvantageRule::Opo, PolicyLoss::Clip, kTokens, .2, .2, plain},
    {"gpg", AdvantageRule::Gpg, PolicyLoss::Reinforce, kTokens, .2, .2, plain},
    {"maxrl", AdvantageRule::MaxRl, PolicyLoss::Clip, kTokens, .2, .2, plain},
    {"pass@k", AdvantageRule::PassK, PolicyLoss::Clip, kTokens, .2, .2, plain},
    {"dppo", AdvantageRule::Grpo, PolicyLoss::Dppo, kTokens, .2, .2, plain},
    {"dro", AdvantageRule::DrGrpo, PolicyLoss::Dro, kTokens, .2, .2, plain},
    {"decoupled-ppo", AdvantageRule::Gae, PolicyLoss::Clip, kTokens, .2, .2,
     [](LlmAlgorithm& a) {
       a.advantage.whiten = true;
       a.group_size = 1;
       decoupled(a);
     }},
    {"decoupled-grpo", AdvantageRule::Grpo, PolicyLoss::Clip, kTokens, .2, .2, decoupled},
};

}  // namespace

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names;
  for (const Preset& preset : kPresets) names.emplace_back(preset.name);
  return names;
}

Result<LlmAlgorithm> algorithm_preset(std::string_view name) {
  const auto* at = std::find_if(std::begin(kPresets), std::end(kPresets),
                                [&](const Preset& p) { return p.name == name; });
  if (at == std::end(kPresets)) {
    return error(Code::NotFound, "no algorithm '{}'{}", name,
                 did_you_mean(name, algorithm_names()));
  }
  LlmAlgorithm a;
  a.name = at->name;
  a.advantage.rule = at->rule;
  a.policy.loss = at->loss;
  a.policy.aggregation = at->aggregation;
  a.policy.clip_low = at->clip_low;
  a.policy.clip_high = at->clip_high;
  at->more(a);
  return a;
}

}  // namespace sluice
