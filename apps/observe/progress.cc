#include "apps/observe/progress.h"

#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>
#include <vector>

namespace sluice {
namespace {

constexpr TimeNs kRedrawEvery = 100 * kMillisecond;

std::string short_number(double value) {
  const double size = std::abs(value);
  if (!std::isfinite(value)) return "?";
  if (size < 1e3) return fmt::format("{:.0f}", value);
  if (size < 1e6) return fmt::format("{:.4g}k", value / 1e3);
  if (size < 1e9) return fmt::format("{:.4g}M", value / 1e6);
  return fmt::format("{:.4g}G", value / 1e9);
}

/// Steps that take seconds are told by their time.
std::string rate(double per_second) {
  if (per_second > 0 && per_second < 1) return fmt::format("{:.1f}s/step", 1 / per_second);
  return short_number(per_second) + "/s";
}

std::string duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e7) return "?";
  const auto s = static_cast<int64_t>(std::ceil(seconds));
  if (s < 60) return fmt::format("{}s", s);
  if (s < 3600) return fmt::format("{}m{:02}s", s / 60, s % 60);
  return fmt::format("{}h{:02}m", s / 3600, s / 60 % 60);
}

}  // namespace

std::string format_progress(const ProgressState& state, size_t width) {
  std::vector<std::string> parts{short_number(static_cast<double>(state.steps)) + " steps",
                                 rate(state.steps_per_second)};
  if (state.episode_return) parts.push_back(fmt::format("return {:.1f}", *state.episode_return));
  if (state.reward) parts.push_back(fmt::format("reward {:.3f}", *state.reward));
  if (state.staleness) parts.push_back(fmt::format("staleness {:.1f}", *state.staleness));
  if (!state.version.empty()) parts.push_back(state.version);
  if (state.eta_seconds) parts.push_back("eta " + duration(*state.eta_seconds));
  if (!state.extra.empty()) parts.push_back(state.extra);
  std::string line = fmt::format("{}", fmt::join(parts, "  "));
  if (width > 0 && line.size() > width) {
    line.resize(width);
    // Not in the middle of a UTF-8 character.
    while (!line.empty() && (line.back() & 0x80) != 0) line.pop_back();
  }
  return line;
}

Progress::Options Progress::detect(std::FILE* out) {
  Options options;
  options.terminal = ::isatty(::fileno(out)) != 0;
  winsize size{};
  if (options.terminal && ::ioctl(::fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    options.width = size.ws_col;
  }
  return options;
}

Progress::Progress(std::FILE* out, Options options, const Clock& clock)
    : out_(out), options_(options), clock_(clock) {
  if (options_.terminal) line_.emplace(out_);
}

void Progress::update(const ProgressState& state) {
  const TimeNs now = clock_.now();
  if (now < next_) return;
  next_ = after(now, options_.terminal ? kRedrawEvery : options_.plain_every);
  show(state);
}

void Progress::finish(const ProgressState& state) {
  show(state);
  if (line_) line_->end();
}

void Progress::show(const ProgressState& state) {
  if (line_) {
    // One column stays free: some terminals wrap as soon as the last one is written.
    line_->show(format_progress(state, options_.width > 1 ? options_.width - 1 : 1));
  } else {
    // Not fmt::print(), which throws when nobody reads or the disk is full.
    std::fputs((format_progress(state, 0) + "\n").c_str(), out_);
    std::fflush(out_);
  }
}

}  // namespace sluice
