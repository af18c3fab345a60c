#pragma once
#include "dataflow/base/clock.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// Whose turn it is in a shutdown: stage after stage, lowest first, each with an equal share of the
/// time that is left for draining. Also keeps who did not manage. Pure arithmetic on times it is
/// given.
class ShutdownSequence {
 public:
  /// `stages` of the loops, in any order. Up to a second of `grace` is kept back for stopping what
  /// did not drain.
  ShutdownSequence(std::vector<int> stages, TimeNs now, TimeNs grace);

  /// The stage that drains; nothing once all have had their turn.
  [[nodiscard]] std::optional<int> stage() const;
  /// Ends the turn of the current stage.
  void next();
  /// How long the current stage may drain; never negative.
  [[nodiscard]] TimeNs share(TimeNs now) const;
  /// Starts a turn that a timer can name; a timer of an earlier turn means nothing.
  int32_t begin_turn() { return ++turn_; }
  [[nodiscard]] bool is_turn(int32_t turn) const { return turn == turn_; }
  [[nodiscard]] TimeNs grace() const { return grace_; }

  /// The loop had to be stopped before it was drained.
  void cut_short(const std::string& loop);
  /// The loop did not even stop.
  void gave_up(const std::string& loop);
  /// "" when every loop drained in time, otherwise one line that names those that did not.
  [[nodiscard]] std::string failure() const;

 private:
  std::vector<int> left_;  // ends with the current stage
  TimeNs drain_until_;
  TimeNs grace_;
  int32_t turn_ = 0;
  std::vector<std::string> cut_short_;
  std::vector<std::string> given_up_;
};

}  // namespace sluice
