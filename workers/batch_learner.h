#pragma once
#include "dataflow/base/result.h"
#include "dataflow/base/snapshot.h"
#include "dataflow/types/weights.h"

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

/// Turns batches of stream items into new weights. One trainer replica owns one; used by its loop
/// thread only. A batch is learned from in bounded pieces, so that the loop stays responsive.
template <class T>
class BatchLearner {
 public:
  using Stats = std::vector<std::pair<std::string, double>>;

  virtual ~BatchLearner() = default;
  /// Takes a batch. The items stay alive and unchanged until step() has returned false.
  virtual Status begin(std::span<const std::shared_ptr<const T>> items) = 0;
  /// One minibatch; true while there is more to do. DataLoss when the numbers are not finite any
  /// more.
  virtual Result<bool> step() = 0;
  /// Named statistics of the last finished batch.
  [[nodiscard]] virtual Stats stats() const = 0;
  /// A copy of the current weights; the tag is left for the trainer to fill.
  [[nodiscard]] virtual Weights weights() const = 0;
  /// Everything a resumed run needs: parameters, moments, counters, normalisers.
  virtual Status save(Snapshot& out) const = 0;
  virtual Status load(const Snapshot& in) = 0;
};

}  // namespace sluice
