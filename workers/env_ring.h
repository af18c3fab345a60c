#pragma once
#include "dataflow/base/random.h"
#include "dataflow/base/snapshot.h"
#include "dataflow/base/whereabouts.h"
#include "dataflow/types/trajectory.h"
#include "envs/env.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sluice {

/// One environment of a ring and what the rollout worker knows about its current episode.
struct EnvSlot {
  std::unique_ptr<Env> env;
  int64_t id = 0;      ///< unique in the run
  int64_t draws = 0;   ///< random draws asked of the policy so far
  int64_t chunks = 0;  ///< chunks handed out so far
  int64_t life = 0;    ///< steps since the run began, for messages
  double episode_return = 0;
  int64_t episode_length = 0;
  bool needs_reset = true;
  bool seeded = false;              ///< its first reset, the seeded one, was tried
  std::vector<std::string> parked;  ///< observation between two chunks: one blob per field

  std::shared_ptr<Trajectory> chunk;  ///< being filled; null between chunks
  int64_t t = 0;                      ///< next row of the chunk
};

/// The environments of one rollout replica. Only stepping, resetting and book-keeping: who acts,
/// and when, is the worker's business. Observations are written straight into the rows of the chunk
/// under way, or parked beside the slot between chunks.
class EnvRing {
 public:
  /// `first_id` is the id of slot 0. Slot i starts from seed key.split("env").split(id). A ring
  /// that replaces a lost one (`attempt` > 0) starts from other seeds and draws, so that it does
  /// not play the same episodes again.
  /// Whoever holds `where` sees in which slot a step or reset hangs.
  static Result<EnvRing> make(const std::string& env, int64_t size, int64_t first_id, RandomKey key,
                              int64_t attempt = 0,
                              std::shared_ptr<Whereabouts> where = std::make_shared<Whereabouts>());

  [[nodiscard]] const EnvSpec& spec() const noexcept { return spec_; }
  [[nodiscard]] int64_t size() const noexcept { return static_cast<int64_t>(slots_.size()); }
  EnvSlot& slot(int64_t i) { return slots_[static_cast<size_t>(i)]; }

  /// Gives the slot an empty chunk and moves the parked observation (or a fresh episode's first
  /// one) into its row 0.
  Status open_chunk(EnvSlot& slot, std::shared_ptr<Trajectory> chunk);
  /// Takes the chunk away, with the slot's id and number in it.
  std::shared_ptr<Trajectory> close_chunk(EnvSlot& slot);

  /// Steps with an action and stores action, reward and flags in row slot.t, which moves on. The
  /// next observation goes to the next row or is parked. Checks observation and reward for NaN and
  /// Inf: DataLoss names slot and step.
  Result<Transition> step(EnvSlot& slot, const void* action);
  /// Starts the next episode where the last step's observation stands.
  Status reset(EnvSlot& slot);
  /// The observation the policy must see next, field by field.
  [[nodiscard]] const void* observation(const EnvSlot& slot, int64_t field) const;

  /// Environment states and counters. A chunk under way is not kept: after load() the slot begins a
  /// new chunk at the observation it had. A larger ring than the saved one starts its further slots
  /// afresh, a smaller one leaves some states unused.
  Status save(Snapshot& out) const;
  Status load(const Snapshot& in);

 private:
  Status check_finite(const EnvSlot& slot, const Transition& transition) const;
  ObservationOut place(EnvSlot& slot);

  EnvSpec spec_;
  RandomKey key_{0};
  std::shared_ptr<Whereabouts> where_;
  std::vector<EnvSlot> slots_;
  std::vector<void*> out_;  // where the next observation goes
  std::vector<float> clipped_;
  int64_t fields_ = 0;
  int64_t action_column_ = 0;
};

}  // namespace sluice
