#pragma once
#include "envs/text/sokoban_level.h"
#include "envs/text/text_env.h"

namespace sluice {

/// Sokoban in turns, in Echo's set-up (arXiv 2508.05387): 6 x 6 with 2 boxes, search depth 20, at
/// most 4 turns of 25 actions. A turn lists moves in <answer> tags, "Up || Left || Left" (commas
/// and spaces do as well); what comes behind an unknown word or the 25th move is not done. Reward 1
/// when all boxes stand on targets, which ends the episode; else 0. Difficulty: 1 has one box and
/// depth 10, 2 is Echo's, 3 is 8 x 8 with 3 boxes and depth 60. Train levels never end; 200 are
/// held out.
class SokobanEnv final : public TextEnv {
 public:
  static Result<std::unique_ptr<TextEnv>> make(const TextTaskOptions& options);
  /// 1 <= difficulty <= 3.
  SokobanEnv(uint64_t seed, int64_t difficulty);

  [[nodiscard]] std::string_view name() const noexcept override { return "sokoban"; }
  [[nodiscard]] int64_t size(Split split) const noexcept override;
  Result<std::vector<ChatTurn>> reset(Split split, int64_t index) override;
  Result<TextStep> step(std::string_view response) override;

  /// Moves that solve the level that reset() drew.
  [[nodiscard]] const std::string& solution() const noexcept { return start_.solution; }

 private:
  RandomKey key_;
  int64_t difficulty_;
  SolvableLevel start_;
  SokobanLevel level_;
  int turns_ = 0;
  bool running_ = false;
};

}  // namespace sluice
