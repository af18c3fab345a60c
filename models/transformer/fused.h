#pragma once
#include "models/transformer/functional.h"

/// The fused forms of functional.h for fp32 on the CPU, with gradients: one node of the graph each.
/// Results equal the plain forms up to rounding.
namespace sluice::fused {

/// Whether the fused forms take these tensors: fp32, CPU.
[[nodiscard]] bool takes(const at::Tensor& x) noexcept;

[[nodiscard]] at::Tensor rms_norm(const Norm& norm, const at::Tensor& x);
[[nodiscard]] AddedNorm add_rms_norm(const Norm& norm, const at::Tensor& x, const at::Tensor& y);
[[nodiscard]] at::Tensor swiglu(const at::Tensor& gate_up);
[[nodiscard]] Heads split_heads(const at::Tensor& qkv, const HeadShape& shape,
                                const RopeTable* rope);

}  // namespace sluice::fused
