#pragma once
#include "actors/loop.h"
#include "actors/messages.h"
#include "actors/restart_budget.h"
#include "actors/run_board.h"

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
  void on_stage_timeout(int32_t stage);
  void on_grace_over();

  const char* name = "sluice.supervisor";

 private:
  struct Record {
    explicit Record(LoopSpec s) : spec(std::move(s)), budget(spec.restart) {}
    [[nodiscard]] bool live() const { return loop != nullptr; }

    LoopSpec spec;
    RestartBudget budget;
    std::shared_ptr<Waker> waker = std::make_shared<Waker>();
    std::shared_ptr<Loop> loop;  // of the attempt under way
    WorkerControl actor;
    LoopState rest = LoopState::Configured;  // while there is none
    int32_t attempt = 0;
    bool made = false;
    bool stopped = false;
    int64_t abandoned = 0;
    int64_t steps_before = 0;
    std::string last_error;
    Result<Snapshots> final_state = Snapshots{};
    uint64_t beats = 0;  // as last seen by on_check
    TimeNs since = 0;
  };
  struct Save {
    int64_t ticket = 0;
    Answer answer;
    size_t missing = 0;
    std::string failure;
    Snapshots all;
  };

  void launch(int32_t index);
  void start_next_stage();
  void retire(Record& record, LoopState rest);
  void fail(int32_t index, const std::string& text);
  void give_up(Record& record);
  void finished(Record& record);
  void saved(size_t index, const std::string& failure);
  void collect(const std::string& who, Result<Snapshots> part);
  void close();
  void drain_next_stage();
  void end_if_all_ended();
  [[nodiscard]] LoopStatus status_of(const Record& record) const;

  Pointer self_;
  std::optional<SupervisorSetup> setup_;
  std::vector<Record> records_;
  std::optional<Answer> starting_;
  std::optional<Save> saving_;
  std::optional<Answer> draining_;
  TimeNs drain_until_ = 0;
  TimeNs grace_ = 0;
  int32_t drain_round_ = 0;
  std::vector<int> stages_left_;
  std::vector<std::string> cut_short_;
  std::vector<std::string> given_up_;
  bool paused_ = false;
  bool closing_ = false;
  bool stopping_ = false;
};

SupervisorControl::behavior_type supervisor(SupervisorControl::stateful_pointer<Supervisor> self,
                                            SupervisorSetup setup);

}  // namespace sluice
