#pragma once
#include "models/transformer/lora/lora.h"

#include <span>
#include <vector>

namespace sluice {

/// Adapters written into a model's weights: W' = W + scale B A, so that generation pays nothing for
/// them. unmerge() puts the weights back bit for bit: the originals are kept, one copy of each
/// adapted weight. (Subtracting scale B A again would leave rounding behind, and what is needed to
/// correct that is as large as the weight.)
///
/// Weights are changed in place, so that whoever holds views of them sees both changes; nothing
/// else may write to them in between, nor run a forward at the same time.
class MergedLora {
 public:
  /// B A and the sum are computed in fp32 (fp64 where the weight is) and rounded once. NotFound
  /// when an adapted layer is not among `layers`, InvalidArgument when an adapter is not finite or
  /// does not fit; then no weight has changed.
  static Result<MergedLora> merge(const LoraSet& lora, std::span<const LoraLayer> layers);

  MergedLora(MergedLora&&) = default;
  MergedLora& operator=(MergedLora&&) = delete;
  MergedLora(const MergedLora&) = delete;
  MergedLora& operator=(const MergedLora&) = delete;
  /// Leaves the weights merged.
  ~MergedLora() = default;

  /// Puts the original weights back; once. FailedPrecondition, and nothing is changed, when a
  /// weight was written to after merge().
  Status unmerge();

 private:
  struct Change {
    std::string layer;
    at::Tensor target;
    at::Tensor original;
    at::Tensor merged;  ///< until it is written
    uint64_t version = 0;
  };
  MergedLora() = default;

  std::vector<Change> changes_;
};

}  // namespace sluice
