#pragma once
#include "dataflow/base/thread_pool.h"
#include "trainer/learner.h"

#include <memory>

namespace sluice {

/// PPO on the fused kernels: gather, forward, loss, backward and Adam without a tensor library in
/// the loop, on `threads` threads. A minibatch is cut into chunks of rows that depend on its size
/// alone; every chunk has its own gradient, and they are summed in order: results are bit-identical
/// for any number of threads. Nothing is allocated after the first update of a size.
class FusedPpoLearner final : public Learner {
 public:
  /// `net` must outlive the learner.
  FusedPpoLearner(ActorCritic& net, const PpoConfig& config, RandomKey key, int threads = 1);
  ~FusedPpoLearner() override;

  Status begin(const LearnBatch& batch, double learning_rate) override;
  bool step() override;
  [[nodiscard]] Stats stats() const override;
  [[nodiscard]] PpoStats ppo_stats() const noexcept;
  [[nodiscard]] std::string save() const override;
  Status load(std::string_view bytes) override;

 private:
  struct Worker;
  void work_chunk(Worker& worker, int64_t chunk, const int64_t* order, const Moments& moments);
  void work_block(Worker& worker, const int64_t* order, int64_t rows, const Moments& moments,
                  float* gradient, PpoSums& sums);

  ActorCritic& net_;
  PpoConfig config_;
  RandomKey key_;
  ThreadPool pool_;
  Adam adam_;
  std::vector<std::unique_ptr<Worker>> workers_;

  // One record per row: observation, action, log_prob, value, advantage, return; a cache line for
  // small observations, so that a shuffled read touches one line per row.
  int64_t record_ = 0;
  int64_t action_width_ = 1;
  AlignedFloats records_;
  std::vector<int64_t> order_;    ///< [epochs, rows]
  std::vector<Moments> moments_;  ///< [epochs, minibatches]
  int64_t chunks_ = 1;
  int64_t gradient_floats_ = 0;  ///< actor, critic, log_std, padded
  AlignedFloats gradients_;      ///< [chunks, gradient_floats]
  AlignedFloats gradient_;       ///< in the parameters' layout
  std::vector<PpoSums> sums_;    ///< [chunks]

  int64_t update_ = 0;  ///< updates begun
  int64_t rows_ = 0;
  int64_t next_ = 0;  ///< minibatch of the running update
  int64_t total_ = 0;
  double learning_rate_ = 0;
  PpoStats stats_;  ///< sums over minibatches
};

}  // namespace sluice
