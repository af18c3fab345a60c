#include "trainer/lm/lm_learner.h"

#include "dataflow/base/clock.h"
#include "models/transformer/logprobs/token_logprobs.h"
#include "models/transformer/lora/lora_op.h"
#include "trainer/lm/accumulating_linear.h"
#include "trainer/lm/flat_adam.h"
#include "trainer/lm/packing.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <map>
#include <optional>
#include <typeinfo>

namespace sluice {
namespace {

constexpr const char* kValueHead = "value_head.weight";

/// Matrices decay; norms (vectors) and biases do not, unless the config says so.
std::vector<Trained> trained_of(const Transformer& model, const LoraSet* lora,
                                const at::Tensor& value_head, const LmLearnerConfig& config) {
  std::vector<Trained> trained;
  const auto add = [&](const std::string& name, const at::Tensor& tensor, std::string group) {
    trained.push_back({name, tensor, std::move(group), config.decay_all || tensor.dim() > 1});
  };
  if (lora != nullptr) {
    for (const auto& [name, tensor] : lora->parameters()) add(name, tensor, "");
  } else {
    std::map<std::string, std::string> groups;
    for (const ParameterSpec& s : parameter_specs(model.config())) groups[s.name] = s.group;
    for (const auto& [name, tensor] : model.parameters().entries()) {
      add(name, tensor, groups[name]);
    }
  }
  if (value_head.defined()) add(kValueHead, value_head, "");
  return trained;
}

/// Seconds between calls.
class StopWatch {
 public:
  void add_to(double& seconds) {
    const TimeNs now = RealClock::instance().now();
    seconds += static_cast<double>(now - last_) * 1e-9;
    last_ = now;
  }

 private:
  TimeNs last_ = RealClock::instance().now();
};

}  // namespace

struct LmLearner::Impl {
  Impl(Transformer trained_model, std::optional<LoraSet> adapters, const LmLearnerConfig& settings)
      : model(std::move(trained_model)),
        lora(std::move(adapters)),
        config(settings),
        layout{.share_prompts = config.share_prompts && continues_sequences(model.config()),
               .feed_last = false},
        value_head(config.value_head ? at::zeros({1, model.config().hidden_size}) : at::Tensor()),
        parameters(trained_of(model, lora ? &*lora : nullptr, value_head, config)),
        adam(parameters.size(), parameters.decayed(), config.adam) {
    const LinearOp& given = model.linear();
    if (lora) {
      model.use(std::make_shared<LoraOp>(base, *lora));
    } else if (typeid(given) == typeid(PlainLinearOp)) {
      model.use(std::make_shared<AccumulatingLinearOp>());
    }
    model.recompute(config.recompute);
  }

  Result<Packing> pack(std::span<const TrainSequence> groups) const {
    RETURN_IF_ERROR(check_groups(groups, model.config().vocab_size));
    std::vector<int64_t> rows;
    for (const TrainSequence& group : groups) rows.push_back(packed_rows(group, layout));
    return pack_best_fit(rows, config.token_budget, "group");
  }

  Result<MicroOutputs> outputs(const GroupBatch& micro, bool entropy) const {
    const at::Tensor hidden = model.forward(micro.batch).index_select(0, micro.rows);
    MicroOutputs out;
    out.sequence = micro.sequence;
    if (model.config().head == HeadKind::Value) {
      out.value = model.values(hidden);
      return out;
    }
    LogprobOptions options;
    options.temperature = config.temperature;
    options.entropy = entropy;
    options.keep = config.keep_logits;
    const Linear& head = lora ? lora->resolve(model.head()) : model.head();
    const LmHead lm{head.weight, head.bias, model.config().logit_softcap, 0, head.weight.grad()};
    ASSIGN_OR_RETURN(TokenLogprobs scored, token_logprobs(hidden, lm, micro.targets, options));
    out.logprob = scored.logprob;
    out.entropy = scored.entropy;
    if (value_head.defined()) {
      out.value = at::linear(hidden.to(value_head.scalar_type()), value_head).squeeze(-1);
    }
    return out;
  }

  /// One of the outputs for each group, without gradients.
  Result<std::vector<at::Tensor>> score(std::span<const TrainSequence> groups,
                                        at::Tensor MicroOutputs::*which_output) const {
    const at::NoGradGuard no_grad;
    ASSIGN_OR_RETURN(const Packing packing, pack(groups));
    std::vector<at::Tensor> result(groups.size());
    for (const std::vector<size_t>& which : packing) {
      const GroupBatch micro = pack_groups(groups, which, layout);
      ASSIGN_OR_RETURN(const MicroOutputs out, outputs(micro, false));
      const auto parts = (out.*which_output).split_with_sizes(micro.group_tokens);
      for (size_t i = 0; i < which.size(); ++i) result[which[i]] = parts[i];
    }
    return result;
  }

  Transformer model;
  std::optional<LoraSet> lora;
  const AccumulatingLinearOp base;  ///< what LoRA adds to
  LmLearnerConfig config;
  GroupLayout layout;
  at::Tensor value_head;
  FlatParameters parameters;
  FlatAdam adam;
  int64_t skipped = 0;
};

LmLearner::LmLearner(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LmLearner::~LmLearner() = default;

Result<std::unique_ptr<LmLearner>> LmLearner::create(Transformer model,
                                                     const LmLearnerConfig& config) {
  return create_with(std::move(model), std::nullopt, config);
}

Result<std::unique_ptr<LmLearner>> LmLearner::create(Transformer model, LoraSet lora,
                                                     const LmLearnerConfig& config) {
  return create_with(std::move(model), std::move(lora), config);
}

Result<std::unique_ptr<LmLearner>> LmLearner::create_with(Transformer model,
                                                          std::optional<LoraSet> lora,
                                                          const LmLearnerConfig& config) {
  RETURN_IF_ERROR(config.check());
  if (model.config().head == HeadKind::Classifier) {
    return error(Code::FailedPrecondition,
                 "the learner needs a model with a language or value head");
  }
  if (model.config().head == HeadKind::Value && config.value_head) {
    return invalid_argument("value_head is set for a model that has one already");
  }
  return std::unique_ptr<LmLearner>(
      new LmLearner(std::make_unique<Impl>(std::move(model), std::move(lora), config)));
}

Result<std::vector<at::Tensor>> LmLearner::logprobs(std::span<const TrainSequence> groups) const {
  if (impl_->model.config().head != HeadKind::Language) {
    return error(Code::FailedPrecondition, "log-probs need a model with a language head");
  }
  return impl_->score(groups, &MicroOutputs::logprob);
}

Result<std::vector<at::Tensor>> LmLearner::values(std::span<const TrainSequence> groups) const {
  if (impl_->model.config().head != HeadKind::Value && !impl_->value_head.defined()) {
    return error(Code::FailedPrecondition, "values need a value head: set value_head");
  }
  return impl_->score(groups, &MicroOutputs::value);
}

Result<LmStepStats> LmLearner::step(std::span<const TrainSequence> groups, const MicroLoss& loss,
                                    bool entropy) {
  Impl& own = *impl_;
  ASSIGN_OR_RETURN(const Packing packing, own.pack(groups));
  LmStepStats stats;
  StopWatch watch;
  own.parameters.zero_gradients();
  watch.add_to(stats.seconds.update);
  for (const std::vector<size_t>& which : packing) {
    const GroupBatch micro = pack_groups(groups, which, own.layout);
    ASSIGN_OR_RETURN(const MicroOutputs out, own.outputs(micro, entropy));
    watch.add_to(stats.seconds.forward);
    const at::Tensor part = loss(out, which);
    stats.loss += part.item<double>();
    ++stats.micro_batches;
    stats.rows += micro.batch.total_tokens();
    stats.response_tokens += micro.targets.numel();
    watch.add_to(stats.seconds.loss);
    if (!std::isfinite(stats.loss)) break;
    // A loss that no token reaches (all advantages left out) has nothing to send back.
    if (part.requires_grad()) part.backward();
    watch.add_to(stats.seconds.backward);
  }
  stats.grad_norm = flat_norm(own.parameters.gradients(), own.parameters.size());
  stats.learning_rate = own.config.learning_rate * own.config.schedule.factor(own.adam.steps());
  stats.skipped = !std::isfinite(stats.loss) || !std::isfinite(stats.grad_norm);
  if (stats.skipped) {
    ++own.skipped;
  } else {
    own.adam.step(own.parameters.values(), own.parameters.gradients(), stats.learning_rate,
                  clip_factor(stats.grad_norm, own.config.max_grad_norm));
  }
  watch.add_to(stats.seconds.update);
  stats.step = own.adam.steps();
  stats.skipped_steps = own.skipped;
  return stats;
}

const Transformer& LmLearner::model() const noexcept { return impl_->model; }
const LmLearnerConfig& LmLearner::config() const noexcept { return impl_->config; }
const std::vector<FlatParameters::Entry>& LmLearner::parameters() const noexcept {
  return impl_->parameters.entries();
}
int64_t LmLearner::steps() const noexcept { return impl_->adam.steps(); }

std::vector<Parameters::Entry> LmLearner::state() const {
  const at::NoGradGuard no_grad;
  std::vector<Parameters::Entry> state;
  const auto add = [&](std::string name, const at::Tensor& tensor) {
    state.push_back({std::move(name), tensor.detach().clone()});
  };
  add("counters", at::tensor({impl_->adam.steps(), impl_->skipped}, at::kLong));
  for (const FlatParameters::Entry& entry : impl_->parameters.entries()) {
    add("parameter." + entry.name, entry.tensor);
    add("adam_m." + entry.name, FlatParameters::part(impl_->adam.m(), entry));
    add("adam_v." + entry.name, FlatParameters::part(impl_->adam.v(), entry));
  }
  return state;
}

Status LmLearner::load_state(const std::vector<Parameters::Entry>& state) {
  const at::NoGradGuard no_grad;
  std::map<std::string, at::Tensor> given;
  for (const Parameters::Entry& entry : state) given[entry.name] = entry.tensor;
  std::vector<std::pair<at::Tensor, at::Tensor>> copies;  // to, from
  const auto take = [&](const std::string& name, const at::Tensor& to) -> Status {
    const auto found = given.find(name);
    if (found == given.end()) return invalid_argument("the state has no '{}'", name);
    if (found->second.sizes() != to.sizes()) {
      return invalid_argument("'{}' of the state is {}, not {}", name,
                              shape_text(found->second.sizes()), shape_text(to.sizes()));
    }
    copies.emplace_back(to, found->second);
    given.erase(found);
    return {};
  };
  const at::Tensor counters = at::zeros({2}, at::kLong);
  RETURN_IF_ERROR(take("counters", counters));
  for (const FlatParameters::Entry& entry : impl_->parameters.entries()) {
    RETURN_IF_ERROR(take("parameter." + entry.name, entry.tensor));
    RETURN_IF_ERROR(take("adam_m." + entry.name, FlatParameters::part(impl_->adam.m(), entry)));
    RETURN_IF_ERROR(take("adam_v." + entry.name, FlatParameters::part(impl_->adam.v(), entry)));
  }
  if (!given.empty()) {
    return invalid_argument("the state has '{}', which this learner does not know",
                            given.begin()->first);
  }
  for (const auto& [to, from] : copies) to.copy_(from);
  const auto* numbers = static_cast<const int64_t*>(counters.const_data_ptr());
  impl_->adam.steps(numbers[0]);
  impl_->skipped = numbers[1];
  return {};
}

}  // namespace sluice
