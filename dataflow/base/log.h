#pragma once
#include <fmt/format.h>

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
/// Called before and after a line goes to standard error, so that a progress line can step aside.
void log_hooks(void (*before)(), void (*after)());

}  // namespace sluice
