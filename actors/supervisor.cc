#include "actors/supervisor.h"

#include "actors/status_codec.h"
#include "actors/text.h"
#include "actors/worker_actor.h"
#include "dataflow/base/log.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace sluice {
namespace {

constexpr TimeNs kStopReserve = kSecond;  // part of the grace left for stopping what did not drain

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
  for (const Record& record : records_) {
    const bool launched = record.live() || record.rest != LoopState::Configured;
    if (launched && !record.made) return;
    if (!launched) stage = std::max(stage.value_or(record.spec.stage), record.spec.stage);
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
  Record& record = records_[static_cast<size_t>(index)];
  record.loop = setup_->factory(record.spec, record.waker);
  record.since = setup_->options.clock.now();
  record.beats = 0;
  const WorkerEvents actor = self_->spawn(
      worker_actor, WorkerSetup{record.spec.name, index, record.loop, SupervisorControl(self_)});
  record.actor = actor;
  compat::watch(self_, record.actor);
  compat::send(self_, record.actor, msg::config_atom_v, record.attempt);
  if (paused_) compat::send(self_, record.actor, msg::pause_atom_v);
  compat::send(self_, record.actor, msg::start_atom_v);
}

void Supervisor::on_started(int32_t index, int32_t attempt) {
  Record& record = records_[static_cast<size_t>(index)];
  if (record.attempt != attempt) return;
  record.made = true;
  setup_->board->notify();
  start_next_stage();
}

void Supervisor::pause(bool paused) {
  paused_ = paused;
  for (const Record& record : records_) {
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
  const auto found = std::find_if(records_.begin(), records_.end(), [&](const Record& r) {
    return r.live() && r.actor.address() == who;
  });
  if (found == records_.end()) return;  // of an attempt that was given up
  const std::string text = compat::exit_text(reason);
  if (!text.empty()) {
    // An actor that died for itself leaves a running loop behind.
    if (found->loop->probe().state != LoopState::Failed) give_up(*found);
    fail(static_cast<int32_t>(found - records_.begin()), text);
  } else {
    finished(*found);
  }
  end_if_all_ended();
}

void Supervisor::retire(Record& record, LoopState rest) {
  if (record.loop) record.steps_before += record.loop->probe().steps;
  record.loop.reset();
  record.actor = nullptr;
  record.rest = rest;
  setup_->options.metrics.gauge("sluice_worker_state", "", {{"worker", record.spec.name}})
      .set(static_cast<double>(rest));
}

void Supervisor::finished(Record& record) {
  record.final_state = record.loop->take_saved();
  retire(record, LoopState::Finished);
  record.made = true;
  if (!closing_) {
    bool any_marked = false;
    bool marked_done = true;
    bool all_done = true;
    for (const Record& r : records_) {
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
  Record& record = records_[static_cast<size_t>(index)];
  record.last_error = text;
  retire(record, LoopState::Failed);
  if (closing_) {
    log(LogLevel::Warning, "worker {} failed during shutdown: {}", record.spec.name, text);
    setup_->board->notify();
    return;
  }
  const std::optional<TimeNs> delay = record.budget.on_failure(setup_->options.clock.now());
  if (!delay) {
    const int64_t times = record.budget.recent();
    const Status outcome =
        error(Code::Aborted, "worker {} failed {} {} within {}; last: {}", record.spec.name, times,
              times == 1 ? "time" : "times", duration_text(record.spec.restart.within), text);
    log(LogLevel::Error, "{}", outcome.message());
    setup_->board->set_outcome(outcome);
    if (starting_) {
      starting_->deliver(outcome.message());
      starting_.reset();
    }
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

void Supervisor::on_restart(int32_t index, int32_t attempt) {
  const Record& record = records_[static_cast<size_t>(index)];
  if (closing_ || record.live() || record.attempt != attempt) return;
  launch(index);
}

/// Leaves the loop's thread to itself; nothing of it is heard any more.
void Supervisor::give_up(Record& record) {
  record.loop->abandon();
  setup_->board->bury(record.loop);
  compat::kill(record.actor);
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
    Record& record = records_[i];
    if (!record.live()) continue;
    const LoopProbe probe = record.loop->probe();
    if (!probe.stepping || probe.beats != record.beats) {
      record.beats = probe.beats;
      record.since = now;
      continue;
    }
    if (now - record.since < deadline) continue;
    const std::string text = fmt::format("a step hangs for more than {} (step {})",
                                         duration_text(deadline), probe.current);
    log(LogLevel::Error, "worker {}: {}; its thread is abandoned", record.spec.name, text);
    give_up(record);
    fail(static_cast<int32_t>(i), text);
  }
  end_if_all_ended();
  compat::send_later(self_, span(std::clamp(deadline / 4, 5 * kMillisecond, kSecond)),
                     SupervisorControl(self_), msg::check_atom_v);
}

// --- status and checkpoints --------------------------------------------------------------------

LoopStatus Supervisor::status_of(const Record& record) const {
  LoopStatus status{record.spec.name,    record.rest, record.attempt,   record.abandoned,
                    record.steps_before, 0,           record.last_error};
  if (record.live()) {
    const LoopProbe probe = record.loop->probe();
    status.state = probe.state;
    status.steps += probe.steps;
    status.busy = probe.busy;
  }
  return status;
}

std::string Supervisor::status() const {
  std::vector<LoopStatus> all;
  all.reserve(records_.size());
  for (const Record& record : records_) all.push_back(status_of(record));
  return encode_status(all);
}

void Supervisor::save(int64_t ticket, Answer answer) {
  if (saving_) {
    answer.deliver(std::string("another checkpoint is under way"));
    return;
  }
  for (const Record& record : records_) {
    if (record.live() || record.rest == LoopState::Finished) continue;
    answer.deliver(fmt::format("worker {} is {}", record.spec.name, sluice::name(record.rest)));
    return;
  }
  saving_.emplace(Save{ticket, std::move(answer), records_.size(), "", {}});
  for (size_t i = 0; i < records_.size(); ++i) {
    if (!records_[i].live()) {
      saved(i, "");
      continue;
    }
    compat::request(self_, records_[i].actor, compat::kNoLimit, msg::save_atom_v, ticket)
        .then([this, i](const std::string& failure) { saved(i, failure); },
              [this, i](const caf::error& e) { saved(i, compat::exit_text(e)); });
  }
}

void Supervisor::saved(size_t index, const std::string& failure) {
  if (!saving_) return;
  const Record& record = records_[index];
  if (!failure.empty()) {
    saving_->failure = fmt::format("worker {}: {}", record.spec.name, failure);
  } else if (record.live()) {
    collect(record.spec.name, record.loop->take_saved());
  } else {
    collect(record.spec.name, record.final_state);
  }
  if (--saving_->missing > 0) return;
  if (saving_->failure.empty()) setup_->board->shelve(saving_->ticket, std::move(saving_->all));
  saving_->answer.deliver(saving_->failure);
  saving_.reset();
}

void Supervisor::collect(const std::string& who, Result<Snapshots> part) {
  if (!part.ok()) {
    saving_->failure = fmt::format("worker {}: {}", who, part.status().message());
    return;
  }
  for (auto& [worker, snapshot] : *part) {
    if (!saving_->all.emplace(worker, std::move(snapshot)).second) {
      saving_->failure = fmt::format("two workers are named '{}'", worker);
    }
  }
}

// --- shutdown ----------------------------------------------------------------------------------

void Supervisor::close() {
  closing_ = true;
  for (Record& record : records_) {
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
  grace_ = grace;
  drain_until_ = setup_->options.clock.now() + grace - std::min(grace / 4, kStopReserve);
  stages_left_.clear();
  for (const Record& record : records_) stages_left_.push_back(record.spec.stage);
  std::sort(stages_left_.begin(), stages_left_.end(), std::greater<>());
  stages_left_.erase(std::unique(stages_left_.begin(), stages_left_.end()), stages_left_.end());
  compat::send_later(self_, span(grace), SupervisorControl(self_), msg::abandon_atom_v);
  if (!stopping_) drain_next_stage();
  end_if_all_ended();
}

/// stages_left_ ends with the stage that drains next.
void Supervisor::drain_next_stage() {
  ++drain_round_;
  while (!stages_left_.empty()) {
    bool any = false;
    for (const Record& record : records_) {
      if (!record.live() || record.spec.stage != stages_left_.back()) continue;
      compat::send(self_, record.actor, msg::drain_atom_v);
      any = true;
    }
    if (any) {
      const TimeNs left = drain_until_ - setup_->options.clock.now();
      compat::send_later(self_, span(left / static_cast<TimeNs>(stages_left_.size())),
                         SupervisorControl(self_), msg::stage_atom_v, drain_round_);
      return;
    }
    stages_left_.pop_back();
  }
}

void Supervisor::on_stage_timeout(int32_t round) {
  if (!draining_ || stopping_ || round != drain_round_ || stages_left_.empty()) return;
  for (Record& record : records_) {
    if (!record.live() || record.spec.stage != stages_left_.back()) continue;
    log(LogLevel::Warning, "worker {} has not drained in its share of {}; it is stopped",
        record.spec.name, duration_text(grace_));
    cut_short_.push_back(record.spec.name);
    compat::send(self_, record.actor, msg::stop_atom_v);
  }
  stages_left_.pop_back();
  drain_next_stage();
}

void Supervisor::on_grace_over() {
  if (!draining_) return;
  for (Record& record : records_) {
    if (!record.live()) continue;
    log(LogLevel::Error, "worker {} does not end within {}; its thread is abandoned",
        record.spec.name, duration_text(grace_));
    given_up_.push_back(record.spec.name);
    std::erase(cut_short_, record.spec.name);
    record.last_error = "did not end within " + duration_text(grace_);
    give_up(record);
    retire(record, LoopState::Failed);
  }
  end_if_all_ended();
}

void Supervisor::stop() {
  close();
  stopping_ = true;
  for (const Record& record : records_) {
    if (record.live()) compat::send(self_, record.actor, msg::stop_atom_v);
  }
  end_if_all_ended();
}

void Supervisor::end_if_all_ended() {
  if (!closing_) return;
  for (const Record& record : records_) {
    if (!record.live()) continue;
    // The next stage need not wait once its elders have ended.
    const bool stage_busy = std::any_of(records_.begin(), records_.end(), [this](const Record& r) {
      return r.live() && !stages_left_.empty() && r.spec.stage == stages_left_.back();
    });
    if (draining_ && !stopping_ && !stage_busy) drain_next_stage();
    return;
  }
  std::string failure;
  if (!given_up_.empty()) {
    failure = fmt::format("not ended within {} and abandoned: {}", duration_text(grace_),
                          fmt::join(given_up_, ", "));
  }
  if (!cut_short_.empty()) {
    failure += fmt::format("{}stopped before drained: {}", failure.empty() ? "" : "; ",
                           fmt::join(cut_short_, ", "));
  }
  Status outcome;
  if (stopping_) outcome = Status(Code::Cancelled, "stopped");
  if (!failure.empty()) outcome = Status(Code::DeadlineExceeded, failure);
  setup_->board->set_outcome(outcome);
  setup_->board->notify();
  if (!draining_) return;
  draining_->deliver(failure);
  draining_.reset();
}

SupervisorControl::behavior_type supervisor(SupervisorControl::stateful_pointer<Supervisor> self,
                                            SupervisorSetup setup) {
  Supervisor& state = self->state;
  state.init(std::move(setup));
  compat::on_down(self, [&state](const caf::actor_addr& who, const caf::error& reason) {
    state.on_down(who, reason);
  });
  const auto answer = [self] { return self->make_response_promise<std::string>(); };
  return {
      [&state, answer](msg::start_atom) {
        auto promise = answer();
        state.start(promise);
        return promise;
      },
      [&state](msg::pause_atom) { state.pause(true); },
      [&state](msg::resume_atom) { state.pause(false); },
      [&state](msg::status_atom) { return state.status(); },
      [&state, answer](msg::save_atom, int64_t ticket) {
        auto promise = answer();
        state.save(ticket, promise);
        return promise;
      },
      [&state, answer](msg::drain_atom, int64_t grace) {
        auto promise = answer();
        state.drain(grace, promise);
        return promise;
      },
      [&state](msg::stop_atom) { state.stop(); },
      [&state](msg::started_atom, int32_t i, int32_t attempt) { state.on_started(i, attempt); },
      [&state](msg::restart_atom, int32_t i, int32_t attempt) { state.on_restart(i, attempt); },
      [&state](msg::check_atom) { state.on_check(); },
      [&state](msg::stage_atom, int32_t round) { state.on_stage_timeout(round); },
      [&state](msg::abandon_atom) { state.on_grace_over(); },
  };
}

}  // namespace sluice
