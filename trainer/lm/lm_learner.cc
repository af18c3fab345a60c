#include "trainer/lm/lm_learner.h"

#include "models/transformer/logprobs/model_logprobs.h"
#include "trainer/lm/accumulating_linear.h"
#include "trainer/lm/flat_adam.h"
#include "trainer/lm/packing.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <map>
#include <typeinfo>

namespace sluice {
namespace {

/// Matrices decay; norms (vectors) and biases do not, unless the config says so.
std::vector<Trained> trained_of(const Transformer& model, const LmLearnerConfig& config) {
  std::map<std::string, std::string> groups;
  for (const ParameterSpec& spec : parameter_specs(model.config())) groups[spec.name] = spec.group;
  std::vector<Trained> trained;
  for (const auto& [name, tensor] : model.parameters().entries()) {
    trained.push_back({name, tensor, groups[name], config.decay_all || tensor.dim() > 1});
  }
  return trained;
}

}  // namespace

struct LmLearner::Impl {
  Impl(Transformer trained_model, const LmLearnerConfig& settings)
      : model(std::move(trained_model)),
        config(settings),
        layout{.share_prompts = config.share_prompts && continues_sequences(model.config()),
               .feed_last = false},
        parameters(trained_of(model, config)),
        adam(parameters.size(), parameters.decayed(), config.adam) {
    // Whoever gave the model another way to multiply keeps it.
    const LinearOp& linear = model.linear();
    if (typeid(linear) == typeid(PlainLinearOp)) {
      model.use(std::make_shared<AccumulatingLinearOp>());
    }
  }

  Result<Packing> pack(std::span<const TrainSequence> groups) const {
    RETURN_IF_ERROR(check_groups(groups, model.config().vocab_size));
    std::vector<int64_t> rows;
    for (const TrainSequence& group : groups) rows.push_back(packed_rows(group, layout));
    return pack_best_fit(rows, config.token_budget, "group");
  }

  Result<MicroOutputs> outputs(const GroupBatch& micro, bool entropy) const {
    const at::Tensor hidden = model.forward(micro.batch).index_select(0, micro.rows);
    LogprobOptions options;
    options.temperature = config.temperature;
    options.entropy = entropy;
    options.keep = config.keep_logits;
    LmHead head = lm_head(model);
    head.weight_gradient = head.weight.grad();
    ASSIGN_OR_RETURN(TokenLogprobs out, token_logprobs(hidden, head, micro.targets, options));
    return MicroOutputs{out.logprob, out.entropy, micro.sequence};
  }

  Transformer model;
  LmLearnerConfig config;
  GroupLayout layout;
  FlatParameters parameters;
  FlatAdam adam;
  int64_t skipped = 0;
};

LmLearner::LmLearner(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LmLearner::~LmLearner() = default;

Result<std::unique_ptr<LmLearner>> LmLearner::create(Transformer model,
                                                     const LmLearnerConfig& config) {
  RETURN_IF_ERROR(config.check());
  if (model.config().head != HeadKind::Language) {
    return error(Code::FailedPrecondition, "the learner needs a model with a language head");
  }
  return std::unique_ptr<LmLearner>(
      new LmLearner(std::make_unique<Impl>(std::move(model), config)));
}

Result<std::vector<at::Tensor>> LmLearner::logprobs(std::span<const TrainSequence> groups) const {
  const at::NoGradGuard no_grad;
  ASSIGN_OR_RETURN(const Packing packing, impl_->pack(groups));
  std::vector<at::Tensor> result(groups.size());
  for (const std::vector<size_t>& which : packing) {
    const GroupBatch micro = pack_groups(groups, which, impl_->layout);
    ASSIGN_OR_RETURN(const MicroOutputs out, impl_->outputs(micro, false));
    const auto parts = out.logprob.split_with_sizes(micro.group_tokens);
    for (size_t i = 0; i < which.size(); ++i) result[which[i]] = parts[i];
  }
  return result;
}

Result<LmStepStats> LmLearner::step(std::span<const TrainSequence> groups, const MicroLoss& loss,
                                    bool entropy) {
  Impl& own = *impl_;
  ASSIGN_OR_RETURN(const Packing packing, own.pack(groups));
  LmStepStats stats;
  own.parameters.zero_gradients();
  for (const std::vector<size_t>& which : packing) {
    const GroupBatch micro = pack_groups(groups, which, own.layout);
    ASSIGN_OR_RETURN(const MicroOutputs out, own.outputs(micro, entropy));
    const at::Tensor part = loss(out, which);
    stats.loss += part.item<double>();
    ++stats.micro_batches;
    stats.rows += micro.batch.total_tokens();
    stats.response_tokens += micro.targets.numel();
    if (!std::isfinite(stats.loss)) break;
    // A loss that no token reaches (all advantages left out) has nothing to send back.
    if (part.requires_grad()) part.backward();
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
