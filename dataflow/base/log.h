#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace sluice {

enum class LogLevel : uint8_t { Debug, Info, Warning, Error };

/// Process-wide log: lines to standard error (from `Warning` unless `verbose`) and, once
/// open_log_file was called, all lines to a file. spdlog is behind it; no other file includes it.
/// Any thread.
void log_line(LogLevel level, std::string_view text);
template <class... A>
void log(LogLevel level, fmt::format_string<A...> format, A&&... args) {
  log_line(level, fmt::format(format, std::forward<A>(args)...));
}

/// Lines at or above this level go to standard error.
void log_to_stderr(LogLevel level);
/// Also writes every line from Info up to this file; replaces the one before. "" closes it.
/// False when the file cannot be opened.
bool open_log_file(const std::string& path);

/// The line at the bottom of a terminal that shows how something gets on. The log owns it: it wipes
/// the line before it prints one of its own, and draws it again below. At most one lives at a time.
/// Any thread.
///
///   StatusLine line(stderr);
///   line.show("3 of 10 files");
class StatusLine {
 public:
  explicit StatusLine(std::FILE* out);
  /// As end().
  ~StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  /// Shows this text in place of the one before; "" shows nothing. One row: the caller cuts it.
  void show(std::string_view text);
  /// Leaves the text where it stands and goes on below it.
  void end();
};

}  // namespace sluice
