#pragma once
#include "trainer/learner.h"

#include <memory>

namespace sluice {

/// Trains with any Algorithm through ATen and autograd: for losses of users, and the reference that
/// the fused learner is checked against. Same order of rows, same Adam.
class AutogradLearner final : public Learner {
 public:
  /// `net` and `algorithm` must outlive the learner. With `target_kl` > 0 an update ends when the
  /// algorithm's "approx_kl" passes 1.5 times it.
  AutogradLearner(ActorCritic& net, Algorithm& algorithm, const UpdateConfig& config, RandomKey key,
                  double target_kl = 0);

  Status begin(const LearnBatch& batch, double learning_rate) override;
  /// The same from named tensors, rows first: "obs" [N, observation] and whatever the algorithm
  /// reads; calls Algorithm::prepare.
  Status begin(TensorMap batch, double learning_rate);
  bool step() override;
  [[nodiscard]] Stats stats() const override;
  [[nodiscard]] std::string save() const override;
  Status load(std::string_view bytes) override;

 private:
  ActorCritic& net_;
  Algorithm& algorithm_;
  UpdateConfig config_;
  RandomKey key_;
  double target_kl_;
  Adam adam_;
  TensorMap batch_;
  int64_t update_ = 0;
  int64_t rows_ = 0;
  int64_t next_ = 0;
  int64_t total_ = 0;
  double learning_rate_ = 0;
  std::vector<int64_t> order_;
  Stats sums_;
  double norm_sum_ = 0;
  int64_t done_ = 0;
  bool stopped_ = false;
};

}  // namespace sluice
