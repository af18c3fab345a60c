#include "apps/run/session.h"

#include "dataflow/base/files.h"
#include "dataflow/base/log.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <future>
#include <memory>
#include <system_error>
#include <utility>

namespace sluice {
namespace {

constexpr TimeNs kTick = 100 * kMillisecond;
constexpr TimeNs kRowEvery = kSecond / 2;
constexpr TimeNs kCheckpointWithin = 30 * kSecond;

double wall_time() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

/// Runs `work` on a thread, so that signals are seen meanwhile; on this one when the machine has no
/// more threads. Not joinable then.
template <class F>
std::thread aside(F work) {
  const auto shared = std::make_shared<F>(std::move(work));
  try {
    return std::thread([shared] { (*shared)(); });
  } catch (const std::system_error&) {
    (*shared)();
    return {};
  }
}

RunControl::Info info_of(const ResolvedRun& run, const RunDir& dir, uint64_t id) {
  return {.run = id, .incarnation = 0, .directory = dir.path(), .max_steps = run.program.max_steps};
}

}  // namespace

Session::Session(ResolvedRun run, const RunOptions& options, RunDir dir, uint64_t id)
    : run_(std::move(run)),
      options_(options),
      dir_(std::move(dir)),
      clock_(RealClock::instance()),
      control_(info_of(run_, dir_, id)),
      checkpoints_(dir_.checkpoints_path(), run_.program.graph.name()),
      saved_(metrics_.counter("sluice_run_checkpoints_total", "Checkpoints written.")),
      save_failures_(
          metrics_.counter("sluice_run_checkpoint_failures_total", "Checkpoints that failed.")) {
  control_.watch(&waker_);
}

Session::~Session() { open_log_file(""); }

int Session::run() {
  const bool resume = !options_.resume.empty();
  Status status = open(resume);
  if (!status.ok()) return refuse(status, resume);
  status = launch();
  // Only now: what could not be resumed keeps the settings it was begun with.
  if (status.ok() && resume) status = write_file_atomic(dir_.config_path(), run_.config);
  if (!status.ok()) return close(status, false, nullptr);
  return watch();
}

int Session::refuse(const Status& why, bool resume) {
  log(LogLevel::Error, "the run cannot start: {}", why.message());
  open_log_file("");
  if (!resume) dir_.discard();
  return 2;
}

Status Session::open(bool resume) {
  // First, so that whatever holds anything of a run can be resumed.
  if (!resume) RETURN_IF_ERROR(write_file_atomic(dir_.config_path(), run_.config));
  if (!open_log_file(dir_.log_path())) {
    return error(Code::ResourceExhausted, "cannot write '{}'", dir_.log_path());
  }
  if (resume) {
    auto checkpoint = checkpoints_.load_latest();
    if (checkpoint.ok()) {
      log(LogLevel::Info, "resuming from {}", checkpoint->path);
      restored_ = std::move(checkpoint->workers);
    } else if (const auto found = checkpoints_.list().size(); found > 0) {
      if (checkpoint.status().code() != Code::NotFound) return checkpoint.status();
      return error(
          Code::DataLoss,
          "none of the {} checkpoints in '{}' is whole; start a new run, or bring back one "
          "of them from a copy",
          found, dir_.checkpoints_path());
    } else if (checkpoint.status().code() == Code::NotFound) {
      log(LogLevel::Warning, "{} has no checkpoint: starting from the beginning", dir_.path());
    } else {
      return checkpoint.status();
    }
  }
  log(LogLevel::Info, "run {} of recipe {} with seed {}", dir_.path(), run_.recipe, run_.seed);
  RETURN_IF_ERROR(write_file_atomic(dir_.graph_path(), run_.program.graph.dot()));
  ASSIGN_OR_RETURN(auto jsonl, MetricsJsonl::open(dir_.metrics_path()));
  jsonl_.emplace(std::move(jsonl));
  ASSIGN_OR_RETURN(auto events,
                   TensorboardWriter::open(dir_.events_path(), wall_time(), host_name()));
  events_.emplace(std::move(events));
  if (options_.metrics_port >= 0) {
    ASSIGN_OR_RETURN(exporter_, PrometheusExporter::start(metrics_, options_.metrics_port));
    std::fprintf(stderr, "metrics: http://127.0.0.1:%d/metrics\n", exporter_->port());
  }
  return {};
}

Status Session::launch() {
  LaunchOptions launch{.clock = clock_, .metrics = metrics_, .run = control_, .seed = run_.seed};
  launch.step_deadline = static_cast<TimeNs>(run_.program.step_deadline * 1e9);
  launch.restored = std::move(restored_);
  launch.last_checkpoint = [this]() -> Result<std::map<std::string, Snapshot>> {
    ASSIGN_OR_RETURN(auto checkpoint, checkpoints_.load_latest());
    return std::move(checkpoint.workers);
  };
  launcher_ = std::make_unique<LocalLauncher>(run_.program.graph, run_.program.placement,
                                              std::move(launch));
  launcher_->control().set_waker(&waker_);
  if (!options_.quiet) {
    progress_ = std::make_unique<Progress>(stderr, Progress::detect(stderr), clock_);
  }
  began_ = clock_.now();
  return launcher_->start();
}

void Session::ask_to_stop(std::string_view reason) {
  control_.request_stop(reason);
  stop_by_ = std::min(stop_by_, after(clock_.now(), static_cast<TimeNs>(run_.program.grace * 1e9)));
}

int Session::watch() {
  const SignalWatch signals(waker_);
  const TimeNs time_limit = options_.max_time > 0
                                ? after(began_, static_cast<TimeNs>(options_.max_time * 1e9))
                                : kForever;
  for (;;) {
    const auto seen = waker_.epoch();
    const TimeNs now = clock_.now();
    if (signals.count() >= 2) {
      launcher_->control().stop_now();
      return close({}, true, &signals);
    }
    if (signals.count() == 1 && !control_.stop_requested()) {
      std::fprintf(stderr, "\nstopping in order; press Ctrl-C again to stop at once\n");
      ask_to_stop("interrupted");
    }
    if (now >= time_limit && !control_.stop_requested()) ask_to_stop("the time limit was reached");
    if (control_.stop_requested() && stop_by_ == kForever) ask_to_stop("");
    if (control_.checkpoint_pending()) {
      write_checkpoint(signals);
      if (signals.count() >= 2) continue;
    }
    if (const auto outcome = launcher_->control().outcome()) {
      if (!outcome->ok()) save_what_there_is(signals);
      return close(*outcome, false, &signals);
    }
    if (control_.finished()) return close({}, false, &signals);
    if (now >= stop_by_) {
      log(LogLevel::Warning, "the trainer did not stop within {} s: saving what there is",
          run_.program.grace);
      save_what_there_is(signals);
      return close({}, signals.count() >= 2, &signals);
    }
    write_metrics(false);
    show_progress(false);
    waker_.wait(seen, after(now, kTick));
  }
}

void Session::write_checkpoint(const SignalWatch& signals) {
  const int64_t step = control_.checkpoint_step();
  const TimeNs within = std::clamp(stop_by_ - clock_.now(), kSecond, kCheckpointWithin);
  // A worker that hangs holds this up; the second Ctrl-C must not wait for it.
  std::promise<Result<std::map<std::string, Snapshot>>> promise;
  auto future = promise.get_future();
  saver_ = aside([this, within, answer = std::move(promise)]() mutable {
    answer.set_value(launcher_->control().checkpoint(within));
  });
  while (future.wait_for(std::chrono::milliseconds(10)) != std::future_status::ready) {
    if (signals.count() >= 2) return;
  }
  if (saver_.joinable()) saver_.join();
  Status status;
  auto saved = future.get();
  if (saved.ok()) {
    status = checkpoints_.save(step, *saved,
                               {{"version", fmt::format("{}", step)}, {"recipe", run_.recipe}});
  } else {
    status = saved.status();
  }
  if (status.ok()) {
    saved_.add();
  } else {
    save_failures_.add();
    log(LogLevel::Warning, "checkpoint of version {} failed, the run goes on: {}", step,
        status.message());
  }
  last_save_ = status;
  control_.checkpoint_done();
}

void Session::save_what_there_is(const SignalWatch& signals) {
  control_.request_checkpoint(static_cast<int64_t>(control_.value("version").value_or(0)), nullptr);
  write_checkpoint(signals);
}

Status Session::unsaved() const {
  if (last_save_.ok()) return {};
  const auto kept = checkpoints_.list();
  return Status(last_save_.code(),
                fmt::format("the final state was not saved: {}; {}", last_save_.message(),
                            kept.empty() ? "there is no checkpoint"
                                         : "the newest checkpoint is " + kept.front()));
}

void Session::write_metrics(bool last) {
  const TimeNs now = clock_.now();
  if (!last && now < next_row_) return;
  const double steps = control_.value("steps").value_or(0);
  if (steps == last_row_steps_ && !last) return;
  next_row_ = after(now, kRowEvery);
  last_row_steps_ = steps;
  std::vector<std::pair<std::string, double>> row;
  for (const auto& [name, value] : control_.snapshot()) row.emplace_back(name, value);
  Status status;
  if (jsonl_) status = jsonl_->append(wall_time(), static_cast<int64_t>(steps), row);
  if (events_) {
    const Status other = events_->append(wall_time(), static_cast<int64_t>(steps), row);
    if (status.ok()) status = other;
  }
  // Said once: a full disk must not fill the terminal, too.
  if (!status.ok() && !metrics_lost_) {
    log(LogLevel::Warning, "metrics are lost for now, the run goes on: {}", status.message());
  }
  metrics_lost_ = !status.ok();
}

void Session::show_progress(bool last) {
  if (!progress_) return;
  ProgressState state;
  const double steps = control_.value("steps").value_or(0);
  state.steps = static_cast<int64_t>(steps);
  state.steps_per_second = control_.value("steps_per_second").value_or(0);
  state.episode_return = control_.value("episode_return");
  state.reward = control_.value("reward");
  state.staleness = control_.value("staleness");
  if (const auto version = control_.value("version"))
    state.version = fmt::format("v{:.0f}", *version);
  if (const auto score = control_.value("eval_return"))
    state.extra = fmt::format("eval {:.1f}", *score);
  if (const auto score = control_.value("eval_reward"))
    state.extra = fmt::format("eval {:.3f}", *score);
  const auto limit = static_cast<double>(run_.program.max_steps);
  if (limit > steps && state.steps_per_second > 0)
    state.eta_seconds = (limit - steps) / state.steps_per_second;
  if (last) {
    progress_->finish(state);
  } else {
    progress_->update(state);
  }
}

double Session::seconds() const { return static_cast<double>(clock_.now() - began_) * 1e-9; }

std::string Session::summary() const {
  const double steps = control_.value("steps").value_or(0);
  std::string text = fmt::format("{:.0f} steps in {:.2f} s", steps, seconds());
  if (const auto value = control_.value("episode_return"))
    text += fmt::format(", return {:.1f}", *value);
  if (const auto value = control_.value("eval_return"))
    text += fmt::format(", evaluation {:.1f}", *value);
  if (const auto value = control_.value("reward")) text += fmt::format(", reward {:.3f}", *value);
  if (const auto value = control_.value("eval_reward"))
    text += fmt::format(", evaluation {:.3f}", *value);
  if (control_.stop_requested()) text += "; stopped: " + control_.stop_reason();
  return text;
}

bool Session::shut_down(TimeNs grace, bool& cut_off, const SignalWatch* signals) {
  std::promise<Status> promise;
  auto future = promise.get_future();
  std::thread closer = aside([this, grace, answer = std::move(promise)]() mutable {
    answer.set_value(launcher_->control().shutdown(grace));
  });
  TimeNs give_up = kForever;
  while (future.wait_for(std::chrono::milliseconds(10)) != std::future_status::ready) {
    if (!cut_off && signals != nullptr && signals->count() >= 2) {
      cut_off = true;
      launcher_->control().stop_now();
      give_up = after(clock_.now(), kSecond);
    }
    if (clock_.now() < give_up) continue;
    if (closer.joinable()) closer.detach();  // the process ends before anything it uses does
    return false;
  }
  if (closer.joinable()) closer.join();
  const Status down = future.get();
  if (!down.ok()) log(LogLevel::Warning, "shutdown: {}", down.message());
  return true;
}

int Session::close(const Status& outcome, bool cut_off, const SignalWatch* signals) {
  Status status = outcome;
  bool stuck = false;
  if (launcher_) {
    const auto grace = cut_off ? kSecond : static_cast<TimeNs>(run_.program.grace * 1e9);
    stuck = !shut_down(grace, cut_off, signals) || launcher_->control().abandoned() > 0 ||
            saver_.joinable();
    show_progress(true);
    write_metrics(true);
  }
  progress_.reset();
  if (status.ok()) {
    const std::string line = summary();
    log(LogLevel::Info, "{}", line);
    std::fprintf(stderr, "%s\nrun directory: %s\n", line.c_str(), dir_.path().c_str());
    if (!cut_off) status = unsaved();
  }
  if (!status.ok()) log(LogLevel::Error, "run failed: {}", status.message());
  const int code = cut_off ? 130 : status.ok() ? 0 : 1;
  if (stuck) {  // a thread that never came back may still use what we would tear down
    open_log_file("");
    std::fflush(nullptr);
    std::_Exit(code);
  }
  launcher_.reset();
  return code;
}

}  // namespace sluice
