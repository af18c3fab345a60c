#include "actors/loop_core.h"

#include "dataflow/base/log.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace sluice {
namespace {

constexpr TimeNs kSampleShort = 2 * kMillisecond;
constexpr TimeNs kSampleLong = 20 * kMillisecond;
constexpr int64_t kMaxStride = 1 << 16;

/// One writer: a plain load and store is enough, and cheaper than a locked add.
template <class T>
void bump(std::atomic<T>& value, T by) {
  value.store(value.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

/// Settings that do not fit and files that are not there or no good: not a matter of luck.
bool lasting(Code code) {
  return code == Code::InvalidArgument || code == Code::FailedPrecondition ||
         code == Code::NotFound || code == Code::DataLoss;
}

double seconds(TimeNs time) { return static_cast<double>(time) / static_cast<double>(kSecond); }

}  // namespace

LoopCore::LoopCore(const LoopSpec& spec, const ControlOptions& options,
                   std::shared_ptr<Waker> waker)
    : name_(spec.name),
      make_(spec.make),
      options_(options),
      waker_(std::move(waker)),
      real_time_(dynamic_cast<RealClock*>(&options.clock) != nullptr),
      busy_seconds_(&options.metrics.double_counter(
          "sluice_worker_busy_seconds_total", "Seconds a loop spent working", {{"worker", name_}})),
      idle_seconds_(&options.metrics.double_counter(
          "sluice_worker_idle_seconds_total", "Seconds a loop spent waiting", {{"worker", name_}})),
      state_gauge_(&options.metrics.gauge("sluice_worker_state",
                                          "0 configured, 1 running, 2 paused, 3 draining, "
                                          "4 finished, 5 failed, 6 restarting",
                                          {{"worker", name_}})) {}

void LoopCore::run(int attempt) {
  Status status;
  try {
    status = run_workers(attempt);
  } catch (const std::exception& e) {
    status = error(Code::Internal, "{}", where(e.what()));
  } catch (...) {
    status = error(Code::Internal, "{}", where("unknown exception"));
  }
  end(std::move(status));
}

Status LoopCore::run_workers(int attempt) {
  mark_ = options_.clock.now();
  RETURN_IF_ERROR(make(attempt));
  for (;;) {
    const Waker::Epoch seen = waker_->epoch();
    if (attention_.load(std::memory_order_acquire)) {
      ASSIGN_OR_RETURN(const Next next, obey());
      if (next == Next::End) return {};
    }
    if (paused_) {
      wait(seen, kForever);
      continue;
    }
    TimeNs until = kForever;
    stepping_.store(true, std::memory_order_relaxed);
    ASSIGN_OR_RETURN(const bool again, round(until));
    const bool all_done =
        std::all_of(slots_.begin(), slots_.end(), [](const Slot& s) { return !s.worker; });
    if (all_done) return {};
    if (!again) wait(seen, until);
  }
}

Status LoopCore::make(int attempt) {
  stepping_.store(true, std::memory_order_relaxed);
  Result<std::vector<HostedWorker>> made =
      make_ ? make_(*waker_, attempt) : Status(invalid_argument("the loop has no make function"));
  if (!made.ok()) {
    hopeless_.store(lasting(made.status().code()), std::memory_order_relaxed);
    return made.status().with_context("make");
  }
  const MutexLock lock(mutex_);
  for (HostedWorker& hosted : *made) {
    if (!hosted.worker) return invalid_argument("make: worker '{}' is null", hosted.name);
    Slot& slot = slots_.emplace_back();
    slot.name = std::move(hosted.name);
    slot.worker = std::move(hosted.worker);
    stations_.push_back({slot.name, std::move(hosted.where)});
    if (life() != Life::Attached) continue;
    slot.counter = &options_.metrics.counter("sluice_worker_steps_total",
                                             "Steps that made progress", {{"worker", slot.name}});
  }
  if (life() != Life::Attached) return {};
  state_.store(LoopState::Running, std::memory_order_release);
  state_gauge_->set(static_cast<double>(LoopState::Running));
  if (listener_ != nullptr) listener_->started();
  return {};
}

Result<LoopCore::Next> LoopCore::obey() {
  Commands todo;
  {
    const MutexLock lock(mutex_);
    attention_.store(false, std::memory_order_relaxed);
    if (life() != Life::Attached) return Next::End;
    todo = commands_;
    commands_.tickets.clear();
  }
  stepping_.store(true, std::memory_order_relaxed);
  if (todo.stop) return Next::End;
  for (const int64_t ticket : todo.tickets) {
    save(ticket);
    bump<uint64_t>(beats_, 1);
  }
  if (todo.drain && !drained_) {
    drained_ = true;
    for (Slot& slot : slots_) {
      current_slot_ = &slot;
      if (slot.worker) slot.worker->drain();
    }
  }
  paused_ = todo.pause && !drained_;
  set_state(drained_ ? LoopState::Draining : paused_ ? LoopState::Paused : LoopState::Running);
  return Next::Step;
}

/// Lets every worker take a step. True when one of them made progress.
Result<bool> LoopCore::round(TimeNs& until) {
  bool progress = false;
  for (Slot& slot : slots_) {
    if (!slot.worker) continue;
    current_slot_ = &slot;
    current_.store(slot.steps + 1, std::memory_order_relaxed);
    station_.store(static_cast<size_t>(&slot - slots_.data()), std::memory_order_relaxed);
    Result<StepResult> result = slot.worker->step();
    bump<uint64_t>(beats_, 1);
    if (!result.ok()) {
      return Status(result.status().code(), where(result.status().message()));
    }
    switch (result->kind) {
      case StepResult::Kind::Idle:
        until = std::min(until, result->until);
        break;
      case StepResult::Kind::Finished:
        progress = true;
        RETURN_IF_ERROR(finish(slot));
        break;
      case StepResult::Kind::Progress:
        progress = true;
        ++slot.steps;
        bump<int64_t>(steps_, 1);
        --until_sample_;
        break;
    }
    // Whoever wants the loop's attention need not wait for the other workers; and if the loop was
    // given up meanwhile, what they and the clock stand on may be gone.
    if (attention_.load(std::memory_order_acquire)) return true;
    if (until_sample_ <= 0) sample(options_.clock.now());
  }
  current_slot_ = nullptr;
  return progress;
}

Status LoopCore::finish(Slot& slot) {
  if (life() != Life::Attached) return {};
  Snapshot snapshot;
  if (Status status = slot.worker->save(snapshot); !status.ok()) {
    final_status_ = status.with_context(slot.name);
    log(LogLevel::Warning, "worker {} finished, but its state could not be saved: {}", slot.name,
        status.to_string());
  } else {
    final_[slot.name] = std::move(snapshot);
  }
  slot.worker.reset();
  return {};
}

void LoopCore::save(int64_t ticket) {
  Snapshots all = final_;
  Status status = final_status_;
  for (const Slot& slot : slots_) {
    if (!status.ok()) break;
    if (!slot.worker) continue;
    try {
      status = slot.worker->save(all[slot.name]).with_context(slot.name);
    } catch (const std::exception& e) {
      status = error(Code::Internal, "{}: {}", slot.name, e.what());
    }
  }
  const MutexLock lock(mutex_);
  if (life() != Life::Attached) return;
  saved_ticket_ = ticket;
  saved_ = status.ok() ? Result<Snapshots>(std::move(all)) : status;
  if (listener_ != nullptr) listener_->saved(ticket, status);
}

void LoopCore::wait(Waker::Epoch seen, TimeNs until) {
  sample(options_.clock.now());
  if (until <= mark_) return;
  stepping_.store(false, std::memory_order_relaxed);
  // The waker knows real time only; on another clock the distance is what counts.
  const TimeNs deadline =
      real_time_ || until == kForever ? until : after(RealClock::instance().now(), until - mark_);
  waker_->wait(seen, deadline);
  const TimeNs now = options_.clock.now();
  bump<TimeNs>(idle_, now - mark_);
  mark_ = now;
}

/// Accounts for the time since the last sample, and aims for one every few milliseconds.
void LoopCore::sample(TimeNs now) {
  const TimeNs passed = now - mark_;
  mark_ = now;
  bump<TimeNs>(busy_, passed);
  if (until_sample_ <= 0) {
    if (passed < kSampleShort) stride_ = std::min(stride_ * 2, kMaxStride);
    if (passed > kSampleLong) stride_ = std::max<int64_t>(stride_ / 4, 1);
    until_sample_ = stride_;
  }
  flush();
}

void LoopCore::flush() {
  const TimeNs busy = busy_.load(std::memory_order_relaxed);
  const TimeNs idle = idle_.load(std::memory_order_relaxed);
  const MutexLock lock(mutex_);
  if (life() != Life::Attached) return;
  for (Slot& slot : slots_) {
    if (slot.steps == slot.counted) continue;
    slot.counter->add(slot.steps - slot.counted);
    slot.counted = slot.steps;
  }
  busy_seconds_->add(seconds(busy - flushed_busy_));
  idle_seconds_->add(seconds(idle - flushed_idle_));
  flushed_busy_ = busy;
  flushed_idle_ = idle;
}

void LoopCore::end(Status status) {
  stepping_.store(false, std::memory_order_relaxed);
  if (life() == Life::Attached) sample(options_.clock.now());
  {
    // Not attached: the owner decides whether the workers may still be destroyed.
    MutexLock lock(mutex_);
    if (life() != Life::Attached) {
      Life expected = Life::Abandoned;
      const bool clean = life_.compare_exchange_strong(expected, Life::CleaningUp);
      lock.unlock();
      while (!clean) std::this_thread::sleep_for(std::chrono::hours(1));
      slots_.clear();
      life_.store(Life::Gone, std::memory_order_release);
      return;
    }
  }
  for (; !slots_.empty(); slots_.pop_back()) {
    if (!slots_.back().worker || !final_status_.ok()) continue;
    final_status_ = Status(Code::Cancelled, slots_.back().name + " was stopped before its end");
  }
  report_end(status);
}

void LoopCore::report_end(const Status& status) {
  const MutexLock lock(mutex_);
  if (life() != Life::Attached) {
    life_.store(Life::Gone, std::memory_order_release);
    return;
  }
  const LoopState state = status.ok() ? LoopState::Finished : LoopState::Failed;
  state_.store(state, std::memory_order_release);
  state_gauge_->set(static_cast<double>(state));
  if (status.ok()) {
    ended_with_ = final_status_.ok() ? Result<Snapshots>(std::move(final_)) : final_status_;
  }
  if (listener_ != nullptr) listener_->ended(status);
  listener_ = nullptr;
  life_.store(Life::Gone, std::memory_order_release);
}

void LoopCore::set_state(LoopState state) {
  const MutexLock lock(mutex_);
  state_.store(state, std::memory_order_release);
  if (life() == Life::Attached) state_gauge_->set(static_cast<double>(state));
}

std::string LoopCore::where(std::string_view what) const {
  if (slots_.empty()) return fmt::format("make: {}", what);
  if (current_slot_ == nullptr) return std::string(what);
  const std::string who = slots_.size() > 1 ? current_slot_->name + ": " : "";
  return fmt::format("{}{} (step {})", who, what, current_slot_->steps + 1);
}

void LoopCore::call_attention() {
  attention_.store(true, std::memory_order_release);
  waker_->wake();
}

void LoopCore::listen(LoopListener* listener) {
  const MutexLock lock(mutex_);
  listener_ = listener;
}

void LoopCore::set_paused(bool paused) {
  const MutexLock lock(mutex_);
  commands_.pause = paused;
  call_attention();
}

void LoopCore::request_save(int64_t ticket) {
  const MutexLock lock(mutex_);
  commands_.tickets.push_back(ticket);
  call_attention();
}

void LoopCore::request_drain() {
  const MutexLock lock(mutex_);
  commands_.drain = true;
  call_attention();
}

void LoopCore::request_stop() {
  const MutexLock lock(mutex_);
  commands_.stop = true;
  call_attention();
}

bool LoopCore::abandon() {
  const MutexLock lock(mutex_);
  if (life() != Life::Attached) return false;
  life_.store(Life::Abandoned, std::memory_order_release);
  listener_ = nullptr;
  call_attention();
  return true;
}

void LoopCore::orphan() {
  const MutexLock lock(mutex_);
  Life expected = Life::Abandoned;
  if (life_.compare_exchange_strong(expected, Life::Orphaned)) return;
  // It is just destroying its workers. That is short, but it is not to be trusted either.
  for (int i = 0; i < 100 && life() == Life::CleaningUp; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

LoopProbe LoopCore::probe() const {
  LoopProbe probe;
  probe.state = state_.load(std::memory_order_acquire);
  probe.stepping = stepping_.load(std::memory_order_relaxed);
  probe.beats = beats_.load(std::memory_order_relaxed);
  probe.steps = steps_.load(std::memory_order_relaxed);
  probe.current = current_.load(std::memory_order_relaxed);
  probe.hopeless = hopeless_.load(std::memory_order_relaxed);
  const auto busy = static_cast<double>(busy_.load(std::memory_order_relaxed));
  const auto idle = static_cast<double>(idle_.load(std::memory_order_relaxed));
  probe.busy = busy + idle > 0 ? busy / (busy + idle) : 0;
  return probe;
}

std::string LoopCore::whereabouts() const {
  const MutexLock lock(mutex_);
  const size_t at = station_.load(std::memory_order_relaxed);
  if (at >= stations_.size()) return "";
  std::string out = stations_.size() > 1 ? stations_[at].worker : "";
  const std::string inside = stations_[at].where ? stations_[at].where->text() : "";
  if (!out.empty() && !inside.empty()) out += ", ";
  return out + inside;
}

Result<Snapshots> LoopCore::take_saved(int64_t ticket) {
  const MutexLock lock(mutex_);
  if (ticket == saved_ticket_) {
    return std::exchange(saved_, error(Code::Unavailable, "taken already"));
  }
  if (ended_with_) return *ended_with_;
  return error(Code::Unavailable, "not saved");
}

Result<Snapshots> LoopCore::take_final() {
  const MutexLock lock(mutex_);
  if (!ended_with_) return error(Code::Unavailable, "no good end");
  return *std::exchange(ended_with_, std::nullopt);
}

}  // namespace sluice
