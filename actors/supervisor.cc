#include "actors/supervisor.h"

#include "actors/status_codec.h"
#include "actors/text.h"
#include "actors/worker_actor.h"
#include "dataflow/base/log.h"

#include <algorithm>

namespace sluice {
namespace {

/// How many step deadlines the making of a loop's workers may take.
constexpr TimeNs kMakingFactor = 10;

std::chrono::nanoseconds span(TimeNs time) {
  return std::chrono::nanoseconds(std::max<TimeNs>(time, 0));
}

}  // namespace

void Supervisor::init(SupervisorSetup setup) {
  setup_.emplace(std::move(setup));
  for (LoopSpec& spec : setup_->specs) {
    records_.emplace_back(std::move(spec));
    // Shown as 0 from the start, so that a rate over it is right.
    setup_->options.metrics.counter("sluice_worker_restarts_total", "Restarts after a failure",
                                    {{"worker", records_.back().spec.name}});
  }
  setup_->specs.clear();
  if (setup_->options.step_deadline > 0) on_check();
}

// --- start -------------------------------------------------------------------------------------

void Supervisor::start(Answer answer) {
  starting_ = std::move(answer);
  start_next_stage();
}

/// Launches the highest stage not launched yet once all launched loops have been made.
void Supervisor::start_next_stage() {
  if (!starting_ || closing_) return;
  std::optional<int> stage;
  for (const LoopRecord& record : records_) {
    if (record.launched() && !record.made) return;
    if (!record.launched()) stage = std::max(stage.value_or(record.spec.stage), record.spec.stage);
  }
  if (!stage) {
    starting_->deliver(std::string());
    starting_.reset();
    return;
  }
  for (size_t i = 0; i < records_.size(); ++i) {
    if (records_[i].spec.stage == *stage) launch(static_cast<int32_t>(i));
  }
}

void Supervisor::launch(int32_t index) {
  LoopRecord& record = records_[static_cast<size_t>(index)];
  record.begin(setup_->factory(record.spec, record.waker), setup_->options.clock.now());
  const WorkerEvents actor = self_->spawn(
      worker_actor, WorkerSetup{record.spec.name, index, record.loop, SupervisorControl(self_)});
  record.actor = actor;
  compat::watch(self_, record.actor);
  compat::send(self_, record.actor, msg::config_atom_v, record.attempt);
  if (paused_) compat::send(self_, record.actor, msg::pause_atom_v);
  compat::send(self_, record.actor, msg::start_atom_v);
}

void Supervisor::on_started(int32_t index, int32_t attempt) {
  LoopRecord& record = records_[static_cast<size_t>(index)];
  if (record.attempt != attempt) return;
  record.made = true;
  setup_->board->notify();
  start_next_stage();
}

void Supervisor::pause(bool paused) {
  paused_ = paused;
  for (const LoopRecord& record : records_) {
    if (!record.live()) continue;
    if (paused) {
      compat::send(self_, record.actor, msg::pause_atom_v);
    } else {
      compat::send(self_, record.actor, msg::resume_atom_v);
    }
  }
}

// --- ends and restarts -------------------------------------------------------------------------

void Supervisor::on_down(const caf::actor_addr& who, const caf::error& reason) {
  const auto found = std::find_if(records_.begin(), records_.end(), [&](const LoopRecord& r) {
    return r.live() && r.actor.address() == who;
  });
  if (found == records_.end()) return;  // of an attempt that was given up
  const std::string text = compat::exit_text(reason);
  if (!text.empty()) {
    // An actor that died for itself leaves a running loop behind.
    const auto index = static_cast<size_t>(found - records_.begin());
    if (found->loop->probe().state != LoopState::Failed) give_up(index);
    fail(static_cast<int32_t>(index), text);
  } else {
    finished(*found);
  }
  end_if_all_ended();
}

void Supervisor::retire(LoopRecord& record, LoopState rest) {
  record.retire(rest);
  setup_->options.metrics.gauge("sluice_worker_state", "", {{"worker", record.spec.name}})
      .set(static_cast<double>(rest));
}

void Supervisor::finished(LoopRecord& record) {
  record.final_state = record.loop->take_final();
  retire(record, LoopState::Finished);
  record.made = true;
  if (!closing_) {
    bool any_marked = false;
    bool marked_done = true;
    bool all_done = true;
    for (const LoopRecord& r : records_) {
      const bool done = r.rest == LoopState::Finished && !r.live();
      any_marked = any_marked || r.spec.ends_run;
      marked_done = marked_done && (done || !r.spec.ends_run);
      all_done = all_done && done;
    }
    if (all_done || (any_marked && marked_done)) setup_->board->set_outcome({});
  }
  setup_->board->notify();
  start_next_stage();
}

void Supervisor::fail(int32_t index, const std::string& text) {
  LoopRecord& record = records_[static_cast<size_t>(index)];
  record.last_error = text;
  const bool hopeless = record.live() && record.loop->probe().hopeless;
  retire(record, LoopState::Failed);
  if (closing_) {
    log(LogLevel::Warning, "worker {} failed during shutdown: {}", record.spec.name, text);
    setup_->board->notify();
    return;
  }
  if (starting_ && hopeless) {
    lost(error(Code::Aborted, "worker {} cannot start: {}", record.spec.name, text));
    return;
  }
  const std::optional<TimeNs> delay = record.budget.on_failure(setup_->options.clock.now());
  if (!delay) {
    const int64_t times = record.budget.recent();
    lost(error(Code::Aborted, "worker {} failed {} {} within {}; last: {}", record.spec.name, times,
               times == 1 ? "time" : "times", duration_text(record.spec.restart.within), text));
    return;
  }
  log(LogLevel::Warning, "worker {} failed and restarts in {}: {}", record.spec.name,
      duration_text(*delay), text);
  retire(record, LoopState::Restarting);
  ++record.attempt;
  setup_->options.metrics
      .counter("sluice_worker_restarts_total", "", {{"worker", record.spec.name}})
      .add();
  setup_->board->notify();
  compat::send_later(self_, span(*delay), SupervisorControl(self_), msg::restart_atom_v, index,
                     record.attempt);
}

/// The run has failed. Whoever asked for it tells the user.
void Supervisor::lost(const Status& outcome) {
  log(LogLevel::Info, "{}", outcome.message());
  setup_->board->set_outcome(outcome);
  if (!starting_) return;
  starting_->deliver(outcome.message());
  starting_.reset();
}

void Supervisor::on_restart(int32_t index, int32_t attempt) {
  const LoopRecord& record = records_[static_cast<size_t>(index)];
  if (closing_ || record.live() || record.attempt != attempt) return;
  launch(index);
}

/// Leaves the loop's thread to itself; nothing of it is heard any more.
void Supervisor::give_up(size_t index) {
  LoopRecord& record = records_[index];
  record.loop->abandon();
  setup_->board->bury(record.loop);
  compat::kill(record.actor);
  // An actor that is killed leaves the requests it has taken unanswered.
  if (saving_ && saving_->parts.waits_for(index)) {
    saved(saving_->parts.ticket(), index, "its thread was abandoned");
  }
  record.waker = std::make_shared<Waker>();
  ++record.abandoned;
  setup_->options.metrics
      .counter("sluice_worker_abandoned_total", "Threads given up because a step hung",
               {{"worker", record.spec.name}})
      .add();
}

void Supervisor::on_check() {
  const TimeNs deadline = setup_->options.step_deadline;
  const TimeNs now = setup_->options.clock.now();
  for (size_t i = 0; i < records_.size(); ++i) {
    LoopRecord& record = records_[i];
    if (!record.live()) continue;
    const LoopProbe probe = record.loop->probe();
    // Models are loaded and environments built before the first step.
    const bool making = probe.state == LoopState::Configured;
    const TimeNs patience = making ? kMakingFactor * deadline : deadline;
    if (!record.hangs(probe, now, patience)) continue;
    const std::string where = record.loop->whereabouts();
    const std::string text =
        making ? fmt::format("its making hangs for more than {}", duration_text(patience))
               : fmt::format("a step hangs for more than {} (step {}{}{})", duration_text(patience),
                             probe.current, where.empty() ? "" : ", ", where);
    log(LogLevel::Error, "worker {}: {}; its thread is abandoned", record.spec.name, text);
    give_up(i);
    fail(static_cast<int32_t>(i), text);
  }
  end_if_all_ended();
  compat::send_later(self_, span(std::clamp(deadline / 4, 5 * kMillisecond, kSecond)),
                     SupervisorControl(self_), msg::check_atom_v);
}

// --- status and checkpoints --------------------------------------------------------------------

std::string Supervisor::status() const {
  std::vector<LoopStatus> all;
  all.reserve(records_.size());
  for (const LoopRecord& record : records_) all.push_back(record.status());
  return encode_status(all);
}

void Supervisor::save(int64_t ticket, Answer answer) {
  if (saving_) {
    answer.deliver(std::string("another checkpoint is under way"));
    return;
  }
  for (const LoopRecord& record : records_) {
    if (record.live() || record.rest == LoopState::Finished || !record.spec.essential) continue;
    answer.deliver(fmt::format("worker {} is {}", record.spec.name, sluice::name(record.rest)));
    return;
  }
  saving_.emplace(Save{{ticket, records_.size()}, std::move(answer)});
  deliver_save_if_complete();
  for (size_t i = 0; i < records_.size(); ++i) {
    if (!records_[i].live()) {
      saved(ticket, i, "");
      continue;
    }
    compat::request(self_, records_[i].actor, compat::kNoLimit, msg::save_atom_v, ticket)
        .then([this, ticket, i](const std::string& failure) { saved(ticket, i, failure); },
              [this, ticket, i](const caf::error& e) { saved(ticket, i, compat::exit_text(e)); });
  }
}

void Supervisor::saved(int64_t ticket, size_t index, const std::string& failure) {
  if (!saving_ || saving_->parts.ticket() != ticket) return;
  const LoopRecord& record = records_[index];
  CheckpointCollection& parts = saving_->parts;
  Result<Snapshots> part = !failure.empty() ? Status(Code::Unavailable, failure)
                           : record.live()  ? record.loop->take_saved(parts.ticket())
                                            : record.final_state;
  if (!part.ok() && !record.spec.essential) {
    log(LogLevel::Warning, "worker {} is not in the checkpoint: {}", record.spec.name,
        part.status().message());
    part = Snapshots{};
  }
  parts.add(index, record.spec.name, std::move(part));
  deliver_save_if_complete();
}

void Supervisor::deliver_save_if_complete() {
  if (!saving_->parts.complete()) return;
  Save done = *std::move(saving_);
  saving_.reset();
  if (done.parts.failure().empty()) setup_->board->shelve(done.parts.ticket(), done.parts.take());
  done.answer.deliver(done.parts.failure());
}

// --- shutdown ----------------------------------------------------------------------------------

void Supervisor::close() {
  closing_ = true;
  for (LoopRecord& record : records_) {
    if (!record.live() && record.rest == LoopState::Restarting) retire(record, LoopState::Failed);
  }
  if (starting_) {
    starting_->deliver(std::string("shut down while starting"));
    starting_.reset();
  }
}

void Supervisor::drain(TimeNs grace, Answer answer) {
  if (draining_) {
    answer.deliver(std::string("a shutdown is under way"));
    return;
  }
  close();
  draining_ = std::move(answer);
  if (!shutdown_) {
    std::vector<int> stages;
    for (const LoopRecord& record : records_) stages.push_back(record.spec.stage);
    shutdown_.emplace(std::move(stages), setup_->options.clock.now(), grace);
    compat::send_later(self_, span(grace), SupervisorControl(self_), msg::abandon_atom_v);
    if (!stopping_) drain_next_stage();
  }
  end_if_all_ended();
}

void Supervisor::drain_next_stage() {
  for (const int32_t turn = shutdown_->begin_turn(); shutdown_->stage(); shutdown_->next()) {
    bool any = false;
    for (const LoopRecord& record : records_) {
      if (!record.live() || record.spec.stage != *shutdown_->stage()) continue;
      compat::send(self_, record.actor, msg::drain_atom_v);
      any = true;
    }
    if (!any) continue;
    compat::send_later(self_, span(shutdown_->share(setup_->options.clock.now())),
                       SupervisorControl(self_), msg::stage_atom_v, turn);
    return;
  }
}

void Supervisor::on_stage_timeout(int32_t turn) {
  if (!draining_ || stopping_ || !shutdown_->is_turn(turn) || !shutdown_->stage()) return;
  for (LoopRecord& record : records_) {
    if (!record.live() || record.spec.stage != *shutdown_->stage()) continue;
    log(LogLevel::Warning, "worker {} has not drained in its share of {}; it is stopped",
        record.spec.name, duration_text(shutdown_->grace()));
    shutdown_->cut_short(record.spec.name);
    compat::send(self_, record.actor, msg::stop_atom_v);
  }
  shutdown_->next();
  drain_next_stage();
}

void Supervisor::on_grace_over() {
  if (!draining_) return;
  for (size_t i = 0; i < records_.size(); ++i) {
    LoopRecord& record = records_[i];
    if (!record.live()) continue;
    log(LogLevel::Error, "worker {} does not end within {}; its thread is abandoned",
        record.spec.name, duration_text(shutdown_->grace()));
    shutdown_->gave_up(record.spec.name);
    record.last_error = "did not end within " + duration_text(shutdown_->grace());
    give_up(i);
    retire(record, LoopState::Failed);
  }
  end_if_all_ended();
}

void Supervisor::stop() {
  close();
  stopping_ = true;
  for (const LoopRecord& record : records_) {
    if (record.live()) compat::send(self_, record.actor, msg::stop_atom_v);
  }
  end_if_all_ended();
}

void Supervisor::end_if_all_ended() {
  if (!closing_) return;
  bool any_live = false;
  bool stage_busy = false;
  for (const LoopRecord& record : records_) {
    any_live = any_live || record.live();
    stage_busy =
        stage_busy || (record.live() && shutdown_ && shutdown_->stage() == record.spec.stage);
  }
  if (any_live) {
    // The next stage need not wait once its elders have ended.
    if (draining_ && !stopping_ && !stage_busy) drain_next_stage();
    return;
  }
  const std::string failure = shutdown_ ? shutdown_->failure() : std::string();
  Status outcome;
  if (stopping_) outcome = Status(Code::Cancelled, "stopped");
  if (!failure.empty()) outcome = Status(Code::DeadlineExceeded, failure);
  setup_->board->set_outcome(outcome);
  setup_->board->notify();
  if (!draining_) return;
  draining_->deliver(failure);
  draining_.reset();
}

}  // namespace sluice
