#pragma once
#include "dataflow/base/random.h"
#include "dataflow/base/result.h"
#include "models/transformer/config.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sluice {

/// How a random value of a parameter is drawn.
enum class ParameterInit : uint8_t { Normal, Zero, One, DecayLog };

/// One parameter before it exists.
struct ParameterSpec {
  std::string name;  ///< as in Hugging Face's Llama: "model.layers.0.self_attn.q_proj.weight"
  std::vector<int64_t> shape;
  ParameterInit init = ParameterInit::Normal;
  /// Neighbours of the same group are multiplied by the same input (q, k and v; gate and up): they
  /// lie end to end in one allocation, so that one product can serve all. Empty: alone.
  std::string group;
};

/// All parameters in the order of the model, embedding first. A tied head is not among them.
[[nodiscard]] std::vector<ParameterSpec> parameter_specs(const TransformerConfig& config);

/// Named tensors in a fixed order: the model's weights. Copies share the tensors.
class Parameters {
 public:
  struct Entry {
    std::string name;
    at::Tensor tensor;
  };

  /// Uninitialised tensors of the specs.
  static Parameters allocate(const std::vector<ParameterSpec>& specs,
                             at::ScalarType dtype = at::kFloat, at::Device device = at::kCPU);
  /// Weights as Hugging Face starts them (normal with the config's initializer_range, norms one,
  /// biases zero), each drawn from its own stream of `key`: the same on every machine.
  static Parameters random(const TransformerConfig& config, RandomKey key,
                           at::ScalarType dtype = at::kFloat);

  /// One tensor as random() would draw it from `key`.
  static at::Tensor random_tensor(const ParameterSpec& spec, double range, RandomKey key);

  [[nodiscard]] const std::vector<Entry>& entries() const noexcept { return entries_; }
  [[nodiscard]] bool has(std::string_view name) const;
  /// Fails an invariant check when there is none of that name.
  [[nodiscard]] const at::Tensor& at(std::string_view name) const;
  /// Undefined when there is none.
  [[nodiscard]] at::Tensor get(std::string_view name) const;
  [[nodiscard]] int64_t numel() const;
  /// Marks every tensor as a leaf whose gradient is wanted, or not.
  void requires_grad(bool wanted);

 private:
  std::vector<Entry> entries_;
  std::unordered_map<std::string, size_t> index_;
};

/// A checkpoint as loading needs to see it: which tensors there are, and one of them on demand.
struct TensorReader {
  struct Stored {
    std::string name;
    std::vector<int64_t> shape;
  };
  std::vector<Stored> tensors;
  std::function<Result<at::Tensor>(const std::string& name)> read;
};

/// Reads all parameters of `config` from a Hugging Face checkpoint of its family. InvalidArgument
/// when a tensor is missing, of another shape (both are named) or not of this model. Tensors known
/// to be harmless are passed over: stored masks and RoPE tables, and the head of a tied model (with
/// a warning when it is not the embedding; a checkpoint may also have the head alone). A value or
/// classifier head that the checkpoint lacks stays at its random start.
Result<Parameters> load_parameters(const TransformerConfig& config, const TensorReader& reader,
                                   at::ScalarType dtype = at::kFloat);

/// The tensors of a Hugging Face checkpoint of the config's family: load_parameters' inverse.
[[nodiscard]] std::vector<Parameters::Entry> to_checkpoint(const TransformerConfig& config,
                                                           const Parameters& parameters);

/// "[24, 32]".
[[nodiscard]] std::string shape_text(at::IntArrayRef shape);

}  // namespace sluice
