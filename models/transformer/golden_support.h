#pragma once
#include "models/transformer/architecture.h"
#include "models/transformer/model.h"

#include <map>
#include <string>
#include <vector>

/// For tests: what testdata/make_golden.py wrote.
namespace sluice::golden {

/// Names of all tiny models that make_golden.py writes.
const std::vector<std::string>& models();

using Tensors = std::map<std::string, at::Tensor>;

/// All tensors of a safetensors file of fp32 and int64.
Result<Tensors> read_file(const std::string& path);
/// Tensors as a checkpoint; those whose name starts with `prefix`, without it.
TensorReader reader(const Tensors& tensors, const std::string& prefix = "");
/// "<source>/models/transformer/testdata/NAME".
std::string folder(const std::string& name);

/// The sequences of "ids" and "cu_seqlens".
PackedBatch batch_of(const Tensors& golden);

struct Model {
  Transformer model;
  Tensors golden;
  PackedBatch batch;
};
/// The tiny model NAME with its weights, and its golden file.
Result<Model> load(const std::string& name, TransformerConfig* config = nullptr);

/// The two sequences of a golden batch.
std::vector<std::vector<int64_t>> sequences(const PackedBatch& batch);

}  // namespace sluice::golden
