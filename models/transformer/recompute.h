#pragma once
#include "models/transformer/functional.h"

#include <functional>

namespace sluice {

/// A part of a model that can be run twice: it owns, or outlives with, what it uses.
using Recomputable = std::function<AddedNorm(const AddedNorm&)>;

/// part(in), of which the graph keeps `in` only: the backward pass runs `part` again (activation
/// recomputation, arXiv 1604.06174). Gradients of the leaves inside are added to their grad() by
/// that pass, so torch::autograd::grad() does not see them. Where `in` needs no gradient the part
/// is simply run.
[[nodiscard]] AddedNorm recomputed(const Recomputable& part, const AddedNorm& in);

}  // namespace sluice
