#pragma once
#include "dataflow/base/clock.h"
#include "dataflow/base/log.h"

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

namespace sluice {

/// What the progress line shows. Parts without a value are left out.
struct ProgressState {
  int64_t steps = 0;
  double steps_per_second = 0;
  std::optional<double> episode_return;
  std::optional<double> reward;  ///< of the newest batch
  std::optional<double> staleness;
  std::optional<double> eta_seconds;
  std::string version;
  std::string extra;
};

/// "1.25M steps  83.1k/s  return 475.0  staleness 0.5  v12.1-0123abcd  eta 1m05s", cut to `width`
/// columns (0: never cut). Pure.
[[nodiscard]] std::string format_progress(const ProgressState& state, size_t width);

/// Shows how a run gets on: on a terminal in the log's status line, up to 10 times a second;
/// otherwise with a plain line every few seconds. At most one lives on a terminal. One thread; log
/// lines may come from any.
class Progress {
 public:
  struct Options {
    bool terminal = false;
    size_t width = 80;  ///< of the terminal
    TimeNs plain_every = 5 * kSecond;
  };

  /// What fits this output: asks whether it is a terminal, and how wide.
  static Options detect(std::FILE* out);

  Progress(std::FILE* out, Options options, const Clock& clock);

  /// Cheap when nothing is due.
  void update(const ProgressState& state);
  /// Shows the last state whatever the time, and ends the line.
  void finish(const ProgressState& state);

 private:
  void show(const ProgressState& state);

  std::FILE* out_;
  Options options_;
  const Clock& clock_;
  TimeNs next_ = 0;
  std::optional<StatusLine> line_;  ///< on a terminal
};

}  // namespace sluice
