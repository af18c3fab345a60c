#include "bench/program_run.h"

namespace sluice::bench {
namespace {

constexpr TimeNs kGrace = 10 * kSecond;

}  // namespace

ProgramRun::ProgramRun(Program program, uint64_t seed, RunState restored)
    : program_(std::move(program)),
      control_({.run = seed, .incarnation = 0, .directory = {}, .max_steps = program_.max_steps}) {
  control_.watch(&waker_);
  LaunchOptions options{
      .clock = RealClock::instance(), .metrics = metrics_, .run = control_, .seed = seed};
  options.restored = std::move(restored);
  launcher_ =
      std::make_unique<LocalLauncher>(program_.graph, program_.placement, std::move(options));
  launcher_->control().set_waker(&waker_);
}

ProgramRun::~ProgramRun() = default;

Status ProgramRun::start() {
  RETURN_IF_ERROR(program_.graph.check(program_.placement));
  return launcher_->start();
}

Status ProgramRun::watch(TimeNs within, const std::function<bool()>& done, TimeNs tick) {
  const RealClock& clock = RealClock::instance();
  const TimeNs until = after(clock.now(), within);
  for (;;) {
    const auto seen = waker_.epoch();
    if (control_.checkpoint_pending()) {
      auto saved = launcher_->control().checkpoint(kGrace);
      if (saved.ok()) state_ = *std::move(saved);
      control_.checkpoint_done();
      if (!saved.ok()) return saved.status();
    }
    if (const auto outcome = launcher_->control().outcome()) return *outcome;
    if (control_.finished() || done()) return {};
    const TimeNs now = clock.now();
    if (now >= until) return {};
    waker_.wait(seen, std::min(until, after(now, tick)));
  }
}

Status ProgramRun::finish(TimeNs within) {
  RETURN_IF_ERROR(watch(within, [] { return false; }));
  if (!control_.finished()) return error(Code::DeadlineExceeded, "the run did not end in time");
  return {};
}

Status ProgramRun::stop() {
  // A trainer that was asked to stop first saves the run: somebody must serve that.
  if (control_.stop_requested()) RETURN_IF_ERROR(finish(kGrace));
  return launcher_->control().shutdown(kGrace);
}

Status ProgramRun::stop_training() {
  control_.request_stop("measured");
  return stop();
}

double ProgramRun::metric(std::string_view name) const {
  double sum = 0;
  for (const auto& sample : metrics_.snapshot()) {
    if (sample.name == name) sum += sample.value;
  }
  return sum;
}

}  // namespace sluice::bench
