#pragma once
#include "inference/engine/engine.h"
#include "inference/kv/kv_space.h"

#include <memory>
#include <unordered_map>
#include <vector>

namespace sluice {

/// Guesses with a smaller model of the same vocabulary (Leviathan et al., arXiv 2211.17192). It
/// draws its guesses as the engine will draw the tokens: at the same temperature and cuts, and by
/// the same random numbers. So where the two models agree about a token, so do the draws, and the
/// engine still draws every token itself.
///
/// Keys and values lie in blocks of its own; the sequences that were not guessed about for longest
/// lose theirs when they run out.
class ModelDrafter final : public Drafter {
 public:
  struct Options {
    int64_t vocabulary = 0;               ///< ids that the engine draws from
    int64_t kv_bytes = int64_t{1} << 28;  ///< memory for keys and values
    int32_t blocks = 0;                   ///< instead of kv_bytes
    int32_t block_size = 32;
    int64_t catch_up = 512;  ///< tokens of a sequence computed in one call; no guess before the end
    LinearFactory linear;    ///< null: PlainLinearOp
  };

  /// Shares the model's weights. InvalidArgument when it cannot guess for such an engine.
  static Result<std::shared_ptr<ModelDrafter>> create(const Transformer& model, Options options);

  void draft(std::span<DraftQuery> queries) override;
  void finished(int64_t sequence, std::span<const int64_t> tokens, int64_t prompt) override;

  [[nodiscard]] const KvSpace& space() const noexcept { return space_; }
  /// Internal when blocks leaked.
  [[nodiscard]] Status check() const;

 private:
  struct Sequence {
    BlockTable table;
    std::vector<int64_t> computed;  ///< tokens, guesses included
    uint64_t used = 0;              ///< in which call
  };
  /// A query under way.
  struct Lane {
    DraftQuery* query = nullptr;
    Sequence* sequence = nullptr;
    std::vector<int64_t> feed;  ///< tokens that are computed next
    bool draws = false;         ///< behind the last of them
  };

  ModelDrafter(Transformer model, Options options, int32_t blocks);
  [[nodiscard]] Lane begin(DraftQuery& query);
  /// Room for what the lane feeds; false: there is none.
  [[nodiscard]] bool make_room(Lane& lane);
  void compute(std::vector<Lane>& lanes);
  /// Adds what is drawn to the query; false: it draws no more.
  [[nodiscard]] bool draw(Lane& lane, std::span<const float> scores);

  const Options options_;
  Transformer model_;
  KvSpace space_;
  PagedKvCache cache_;
  std::unordered_map<int64_t, Sequence> sequences_;
  uint64_t call_ = 0;
  TokenSampler sampler_;
  SamplingParams params_;
};

}  // namespace sluice
