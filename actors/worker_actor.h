#pragma once
#include "actors/loop.h"
#include "actors/messages.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

/// What a worker actor is made from. An in-process hand-over at spawn, never a message.
struct WorkerSetup {
  std::string name;
  int32_t index = 0;  ///< of the loop at its supervisor
  std::shared_ptr<Loop> loop;
  SupervisorControl supervisor;
};

/// State of the actor beside one attempt of a loop: passes commands on to the loop and hears back
/// from the loop's thread. Never blocks.
class WorkerActorState : public LoopListener {
 public:
  ~WorkerActorState() override;
  WorkerActorState() = default;
  WorkerActorState(const WorkerActorState&) = delete;
  WorkerActorState& operator=(const WorkerActorState&) = delete;

  // On the loop's thread.
  void started() override;
  void saved(int64_t ticket, const Status& status) override;
  void ended(const Status& status) override;

  const char* name = "sluice.worker";
  WorkerSetup setup;
  int32_t attempt = 0;
  WorkerEvents me;
  std::vector<std::pair<int64_t, caf::typed_response_promise<std::string>>> saves;
};

WorkerEvents::behavior_type worker_actor(WorkerEvents::stateful_pointer<WorkerActorState> self,
                                         WorkerSetup setup);

}  // namespace sluice
