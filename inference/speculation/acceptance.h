#pragma once
#include "inference/sampler/sampler.h"

#include <cstdint>
#include <span>

namespace sluice {

/// What becomes of a drafted token.
struct Acceptance {
  bool accepted = false;
  int64_t token = 0;  ///< the drafted one, or the one drawn in its place
};

/// Exact rejection sampling (Leviathan et al., arXiv 2211.17192, algorithm 1): the drafted token is
/// accepted with probability min(1, target / draft), else a token is drawn from
/// max(target - draft, 0), normalised. Whatever the draft, the result is distributed as `target`.
///
/// Both distributions are TokenSampler::distribution's, by ascending id, under the same parameters;
/// the draft's must be the one that `drafted` was drawn from. `uniform` and `uniform_again` are
/// independent draws in [0, 1) (sampling_uniform with kAcceptUse and kResampleUse). A pure
/// function.
///
/// The engine does without: it draws every token with TokenSampler::sample as ever and goes on as
/// long as that is the drafted one (engine_draft.cc says why). For a draft without randomness
/// (n-gram, suffix tree, greedy) both accept as often; for one drawn by chance this rule accepts
/// most often of all, but gives other tokens than decoding without drafts.
[[nodiscard]] Acceptance accept_or_resample(std::span<const TokenProbability> target,
                                            std::span<const TokenProbability> draft,
                                            int64_t drafted, double uniform,
                                            double uniform_again) noexcept;

inline constexpr uint64_t kAcceptUse = 1;
inline constexpr uint64_t kResampleUse = 2;
inline constexpr uint64_t kDraftUse = 3;  ///< for the draft model's own draw

/// The token at which the running sum of probabilities exceeds `uniform`.
[[nodiscard]] int64_t draw_token(std::span<const TokenProbability> distribution,
                                 double uniform) noexcept;

}  // namespace sluice
