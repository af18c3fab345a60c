// Parameters from and to the tensors of a Hugging Face checkpoint.
#include "dataflow/base/log.h"
#include "models/transformer/architecture.h"
#include "models/transformer/parameters.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <unordered_map>
#include <unordered_set>

namespace sluice {
namespace {

constexpr const char* kEmbedding = "model.embed_tokens.weight";

/// Tensors that some checkpoints carry and no model needs.
bool harmless(const TransformerConfig& config, std::string_view name) {
  if (name.ends_with(".rotary_emb.inv_freq") || name.ends_with(".attn.masked_bias")) return true;
  if (config.family == "gpt2" && name.ends_with(".attn.bias")) return true;
  const bool headless = config.tied_head || config.head != HeadKind::Language;
  return headless && name == "lm_head.weight";
}

class Loader {
 public:
  Loader(const TransformerConfig& config, const TensorReader& reader)
      : config_(config), reader_(reader), prefix_(architecture_of(config).base_prefix) {
    for (const auto& t : reader.tensors) stored_.emplace(t.name, &t);
  }

  /// Whether the checkpoint has the tensor of `spec` in the shape that the config implies.
  [[nodiscard]] Status check(const ParameterSpec& spec) const {
    const TensorSource source = tensor_source(config_, spec.name);
    const TensorReader::Stored* stored = find(source.tensor);
    if (stored == nullptr) {
      // A fresh head on a language model is how a critic or classifier is made.
      if (spec.name == "score.weight") return {};
      return invalid_argument("tensor '{}' {} is missing in the checkpoint", source.tensor,
                              shape_text(stored_shape(spec, source)));
    }
    const auto wanted = stored_shape(spec, source);
    if (stored->shape != wanted) {
      return invalid_argument("tensor '{}' is {} in the checkpoint, the config implies {}",
                              stored->name, shape_text(stored->shape), shape_text(wanted));
    }
    return {};
  }

  /// Of a spec that check() has passed.
  Status load(const ParameterSpec& spec, at::Tensor& into) {
    const TensorSource source = tensor_source(config_, spec.name);
    const TensorReader::Stored* stored = find(source.tensor);
    if (stored == nullptr) return {};
    used_.insert(stored->name);
    ASSIGN_OR_RETURN(at::Tensor value, read(*stored));
    if (source.transposed) value = value.t();
    if (source.rows > 0) value = value.narrow(0, source.offset, spec.shape[0]);
    into.copy_(value);
    return {};
  }

  /// A tied head that the checkpoint has besides: the embedding stands, as in transformers.
  Status compare_tied(const Parameters& parameters) {
    const auto head = stored_.find("lm_head.weight");
    if (!config_.tied_head || head == stored_.end() || used_.contains(head->first)) return {};
    const at::Tensor& embedding = parameters.at(kEmbedding);
    if (embedding.sizes() == at::IntArrayRef(head->second->shape)) {
      ASSIGN_OR_RETURN(const at::Tensor value, read(*head->second));
      if (at::equal(value.to(embedding.scalar_type()), embedding)) return {};
    }
    log(LogLevel::Warning,
        "the checkpoint's lm_head.weight differs from the embedding that the config ties it to; "
        "the embedding is taken");
    return {};
  }

  [[nodiscard]] Status all_used() const {
    for (const auto& t : reader_.tensors) {
      if (used_.contains(t.name) || harmless(config_, t.name)) continue;
      return invalid_argument("tensor '{}' {} in the checkpoint belongs to no parameter of {}",
                              t.name, shape_text(t.shape), architecture_of(config_).causal_lm);
    }
    return {};
  }

 private:
  [[nodiscard]] const TensorReader::Stored* find(const std::string& name) const {
    if (const auto it = stored_.find(name); it != stored_.end()) return it->second;
    if (name.starts_with(prefix_)) {
      const auto it = stored_.find(name.substr(prefix_.size()));
      if (it != stored_.end()) return it->second;
    }
    // Of a tied pair either name will do.
    const bool tied = config_.tied_head && name == tensor_source(config_, kEmbedding).tensor;
    const auto head = stored_.find("lm_head.weight");
    return tied && head != stored_.end() ? head->second : nullptr;
  }

  static std::vector<int64_t> stored_shape(const ParameterSpec& spec, const TensorSource& source) {
    std::vector<int64_t> shape = spec.shape;
    if (source.rows > 0) shape[0] = source.rows;
    if (source.transposed) std::swap(shape[0], shape[1]);
    return shape;
  }

  /// The parts of one tensor follow each other: it is read once.
  Result<at::Tensor> read(const TensorReader::Stored& stored) {
    if (last_name_ != stored.name) {
      ASSIGN_OR_RETURN(last_, reader_.read(stored.name));
      last_name_ = stored.name;
    }
    if (last_.sizes() != at::IntArrayRef(stored.shape)) {
      return error(Code::DataLoss, "tensor '{}' was read as {}, listed as {}", stored.name,
                   shape_text(last_.sizes()), shape_text(stored.shape));
    }
    return last_;
  }

  const TransformerConfig& config_;
  const TensorReader& reader_;
  std::string prefix_;
  std::unordered_map<std::string, const TensorReader::Stored*> stored_;
  std::unordered_set<std::string> used_;
  std::string last_name_;
  at::Tensor last_;
};

}  // namespace

Result<Parameters> load_parameters(const TransformerConfig& config, const TensorReader& reader,
                                   at::ScalarType dtype) {
  const at::NoGradGuard no_grad;
  const auto specs = parameter_specs(config);
  Loader loader(config, reader);
  // A config that lies about its sizes must not cost memory: nothing is allocated before.
  for (const ParameterSpec& spec : specs) RETURN_IF_ERROR(loader.check(spec));
  Parameters parameters = Parameters::allocate(specs, dtype);
  if (parameters.has("score.weight")) {
    at::Tensor score = parameters.at("score.weight");
    score.copy_(Parameters::random_tensor(specs.back(), config.initializer_range, RandomKey(0)));
  }
  for (size_t i = 0; i < specs.size(); ++i) {
    at::Tensor into = parameters.entries()[i].tensor;
    RETURN_IF_ERROR(loader.load(specs[i], into));
  }
  RETURN_IF_ERROR(loader.all_used());
  RETURN_IF_ERROR(loader.compare_tied(parameters));
  return parameters;
}

std::vector<Parameters::Entry> to_checkpoint(const TransformerConfig& config,
                                             const Parameters& parameters) {
  const at::NoGradGuard no_grad;
  std::vector<Parameters::Entry> out;
  std::unordered_map<std::string, size_t> index;
  for (const auto& [name, tensor] : parameters.entries()) {
    const TensorSource source = tensor_source(config, name);
    auto [it, fresh] = index.emplace(source.tensor, out.size());
    if (source.rows == 0) {
      SLUICE_CHECK(fresh) << source.tensor << " has two sources";
      out.push_back(
          {source.tensor, source.transposed ? tensor.detach().t().contiguous() : tensor.detach()});
      continue;
    }
    std::vector<int64_t> shape = tensor.sizes().vec();
    shape[0] = source.rows;
    if (source.transposed) std::swap(shape[0], shape[1]);
    if (fresh)
      out.push_back({source.tensor, at::empty(shape, tensor.options().requires_grad(false))});
    at::Tensor whole = out[it->second].tensor;
    if (source.transposed) whole = whole.t();
    whole.narrow(0, source.offset, tensor.size(0)).copy_(tensor.detach());
  }
  return out;
}

}  // namespace sluice
