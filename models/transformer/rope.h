#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace sluice {

/// How the frequencies of rotary positions (RoPE, arXiv 2104.09864) are stretched.
enum class RopeType : uint8_t {
  None,     ///< no rotary positions
  Default,  ///< plain
  Linear,   ///< all frequencies divided by `factor` (arXiv 2306.15595)
  Dynamic,  ///< the base grows with the length of the sequence (NTK-aware)
  Llama3,   ///< only long wavelengths are divided (arXiv 2407.21783)
  Yarn,     ///< blended by wavelength, with an attention factor (arXiv 2309.00071)
};

[[nodiscard]] std::string_view name(RopeType type) noexcept;
/// Empty when the name is not one of Hugging Face's that we know.
[[nodiscard]] std::optional<RopeType> rope_type(std::string_view name) noexcept;

/// Numbers of a rotary embedding, named as in Hugging Face's `rope_parameters`.
struct RopeConfig {
  RopeType type = RopeType::None;
  double theta = 10000;
  double factor = 1;
  double partial_rotary_factor = 1;  ///< share of each head that is rotated, from its front
  double low_freq_factor = 1;
  double high_freq_factor = 4;
  int64_t original_max_positions = 0;
  double beta_fast = 32;
  double beta_slow = 1;
  double attention_factor = 0;  ///< yarn: factor of cos and sin; 0: 0.1 ln(factor) + 1
  double mscale = 0;
  double mscale_all_dim = 0;
  bool truncate = true;  ///< yarn: the correction range is rounded outwards
  /// Dynamic: the length that sets the base. 0: the longest position of the sequence at hand,
  /// which then disagrees with keys cached earlier; an engine fixes it at its greatest length.
  int64_t dynamic_length = 0;

  bool operator==(const RopeConfig&) const = default;
};

/// The rotated part of a head of `head_dim`.
[[nodiscard]] int64_t rotary_dim(const RopeConfig& rope, int64_t head_dim) noexcept;

/// Whether each sequence's length decides its frequencies.
[[nodiscard]] bool rope_by_sequence(const RopeConfig& rope) noexcept;

/// Inverse frequencies [rotary_dim / 2] as `transformers` computes them (fp32). `length` matters to
/// Dynamic only, with `max_positions` of the model.
[[nodiscard]] std::vector<float> rope_inv_freq(const RopeConfig& rope, int64_t head_dim,
                                               int64_t max_positions, int64_t length);

/// Factor of cos and sin: 1 except for yarn.
[[nodiscard]] double rope_attention_factor(const RopeConfig& rope) noexcept;

/// cos and sin [tokens, rotary_dim / 2] in fp32 of every position in a batch.
struct RopeTable {
  at::Tensor cos;
  at::Tensor sin;
};
/// The frequencies as a tensor on a device, for tables of many batches; undefined where they depend
/// on the sequence (rope_table then works them out).
[[nodiscard]] at::Tensor rope_frequencies(const RopeConfig& rope, int64_t head_dim,
                                          int64_t max_positions, const at::Device& device);
/// `frequencies`, when defined, are rope_frequencies(). `cu_seqlens` bounds the sequences: each
/// takes its own length where the type depends on it.
[[nodiscard]] RopeTable rope_table(const RopeConfig& rope, int64_t head_dim, int64_t max_positions,
                                   const at::Tensor& positions,
                                   const std::vector<int64_t>& cu_seqlens,
                                   const at::Tensor& frequencies = {});

}  // namespace sluice
