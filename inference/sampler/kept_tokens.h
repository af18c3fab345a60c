#pragma once
#include "inference/sampler/sampling_params.h"

#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

/// A token that may be drawn.
struct Candidate {
  float x = 0;       ///< its logit over the temperature
  float weight = 0;  ///< e^(x - greatest x): its probability up to a factor
  int32_t id = 0;
};

/// Cuts a row down to the tokens that top-k, then top-p (Holtzman et al., arXiv 1904.09751), then
/// min-p (arXiv 2407.01082) keep. Nothing is sorted but a few candidates near the cut: maxima of
/// blocks bound the k-th greatest logit from below, and the nucleus is found by
/// buckets, then by halving. Of equal
/// logits the lower ids stay. Buffers are kept between calls; one thread.
class KeptTokens {
 public:
  /// A row x of logits, already divided by the temperature.
  struct Row {
    std::span<const float> x;
    std::span<const float> block_max;  ///< as SamplingKernels::block_max gives it
    float max = 0;                     ///< finite
  };

  /// Whether the parameters cut anything off a row of n.
  [[nodiscard]] static bool cuts(const SamplingParams& params, size_t n) noexcept;

  /// The kept tokens in the order of their ids, at least one; valid until the next call.
  [[nodiscard]] std::span<const Candidate> cut(const Row& row, const SamplingParams& params);

  /// The k greatest, greatest first; fewer when fewer are above -inf. Valid until the next call.
  [[nodiscard]] std::span<const Candidate> greatest(const Row& row, size_t k);

 private:
  void gather_top(const Row& row, size_t k);
  void gather_nucleus(const Row& row, float p);
  void gather_from(const Row& row, float least);
  void cut_nucleus(double target);
  /// Leaves in work_ the candidates among which the cut lies; returns what those before weigh.
  double narrow(double target);
  /// Drops what comes after `last` in the order of preference.
  void drop_after(const Candidate& last);
  [[nodiscard]] double mass() const;

  std::vector<Candidate> kept_;
  std::vector<Candidate> work_;
  std::vector<float> floats_;
};

}  // namespace sluice
