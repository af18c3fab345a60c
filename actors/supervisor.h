#pragma once
#include "actors/checkpoint_collection.h"
#include "actors/loop_record.h"
#include "actors/messages.h"
#include "actors/run_board.h"
#include "actors/shutdown_sequence.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

using LoopFactory =
    std::function<std::shared_ptr<Loop>(const LoopSpec& spec, std::shared_ptr<Waker> waker)>;

/// What the supervisor is made from. An in-process hand-over at spawn, never a message.
struct SupervisorSetup {
  std::vector<LoopSpec> specs;
  ControlOptions options;
  std::shared_ptr<RunBoard> board;
  LoopFactory factory;
};

/// State of the actor that starts, watches, restarts and shuts down the loops of one process. One
/// worker actor stands beside every attempt of a loop; its exit tells how the attempt ended.
class Supervisor {
 public:
  using Pointer = SupervisorControl::pointer;
  using Answer = caf::typed_response_promise<std::string>;

  explicit Supervisor(Pointer self) : self_(self) {}
  void init(SupervisorSetup setup);

  void start(Answer answer);
  void pause(bool paused);
  [[nodiscard]] std::string status() const;
  void save(int64_t ticket, Answer answer);
  void drain(TimeNs grace, Answer answer);
  void stop();

  void on_started(int32_t index, int32_t attempt);
  void on_down(const caf::actor_addr& who, const caf::error& reason);
  void on_restart(int32_t index, int32_t attempt);
  void on_check();
  void on_stage_timeout(int32_t turn);
  void on_grace_over();

  const char* name = "sluice.supervisor";

 private:
  struct Save {
    CheckpointCollection parts;
    Answer answer;
  };

  void launch(int32_t index);
  void start_next_stage();
  void retire(LoopRecord& record, LoopState rest);
  void fail(int32_t index, const std::string& text);
  void lost(const Status& outcome);
  void give_up(size_t index);
  void finished(LoopRecord& record);
  void saved(int64_t ticket, size_t index, const std::string& failure);
  void deliver_save_if_complete();
  void close();
  void drain_next_stage();
  void end_if_all_ended();

  Pointer self_;
  std::optional<SupervisorSetup> setup_;
  std::vector<LoopRecord> records_;
  std::optional<Answer> starting_;
  std::optional<Save> saving_;
  std::optional<ShutdownSequence> shutdown_;  // since the first drain()
  std::optional<Answer> draining_;
  bool paused_ = false;
  bool closing_ = false;
  bool stopping_ = false;
};

/// The actor itself: hands every message to the Supervisor that is its state.
SupervisorControl::behavior_type supervisor(SupervisorControl::stateful_pointer<Supervisor> self,
                                            SupervisorSetup setup);

}  // namespace sluice
