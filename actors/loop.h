#pragma once
#include "actors/control_plane.h"

#include <cstdint>
#include <map>
#include <string>

namespace sluice {

/// What a loop tells the actor beside it. Called from the loop's thread, never after abandon();
/// must not block and must not call back into the loop.
class LoopListener {
 public:
  virtual ~LoopListener() = default;
  /// make() succeeded; the first step follows.
  virtual void started() = 0;
  /// Ticket `ticket` is done; with success take_saved() has the snapshots.
  virtual void saved(int64_t ticket, const Status& status) = 0;
  /// The last call: the workers are destroyed and the thread ends. OK when they finished or were
  /// told to stop.
  virtual void ended(const Status& status) = 0;
};

/// What can be seen of a loop at any time, without asking its thread.
struct LoopProbe {
  LoopState state = LoopState::Configured;
  bool stepping = false;  ///< at work (making, stepping, saving), not waiting
  uint64_t beats = 0;     ///< moves whenever a step ends
  int64_t steps = 0;      ///< steps that made progress, this attempt
  int64_t current = 0;    ///< number of the step under way in its worker, from 1
  double busy = 0;
  bool hopeless = false;  ///< make() failed for a reason that the next attempt will meet, too
};

using Snapshots = std::map<std::string, Snapshot>;

/// One attempt at running a loop, as the actor beside it sees it. No call blocks; commands take
/// effect between two steps.
class Loop {
 public:
  virtual ~Loop() = default;
  virtual void start(LoopListener& listener, int attempt) = 0;  ///< once
  virtual void pause() = 0;
  virtual void resume() = 0;
  virtual void checkpoint(int64_t ticket) = 0;
  virtual void drain() = 0;  ///< also ends a pause
  virtual void stop() = 0;
  /// Gives the thread up: the listener is not called any more and late results are ignored.
  virtual void abandon() = 0;
  [[nodiscard]] virtual LoopProbe probe() const = 0;
  /// What the step under way is at, for a message: the worker's name where several share the loop,
  /// and what the worker tells of itself. "" when there is nothing to tell.
  [[nodiscard]] virtual std::string whereabouts() const = 0;
  /// The snapshots of one ticket, once. When the loop has ended well without getting to the ticket:
  /// those of the finished workers.
  virtual Result<Snapshots> take_saved(int64_t ticket) = 0;
  /// After a good end: the snapshots of the finished workers, once. An error when a worker was
  /// stopped before it had finished.
  virtual Result<Snapshots> take_final() = 0;
  /// An abandoned thread that has not come back from its worker.
  [[nodiscard]] virtual bool stuck() const = 0;
};

}  // namespace sluice
