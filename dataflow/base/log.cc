#include "dataflow/base/log.h"

#include "dataflow/base/mutex.h"
#include "dataflow/base/result.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include <memory>
#include <utility>

namespace sluice {
namespace {

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::Debug:
      return spdlog::level::debug;
    case LogLevel::Info:
      return spdlog::level::info;
    case LogLevel::Warning:
      return spdlog::level::warn;
    case LogLevel::Error:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

/// What a log file that cannot be written is told by. Called under the lock of the log.
void say_log_is_lost(const std::string& why);

std::shared_ptr<spdlog::logger> make_logger(spdlog::sink_ptr sink, const char* pattern) {
  auto logger = std::make_shared<spdlog::logger>("sluice", std::move(sink));
  logger->set_level(spdlog::level::trace);
  logger->set_pattern(pattern);
  // A line must be there when the process is killed right after it.
  logger->flush_on(spdlog::level::trace);
  return logger;
}

/// One lock around all outputs keeps their order the same and the status line in one piece.
struct Log {
  Mutex mutex;
  std::shared_ptr<spdlog::logger> terminal =
      make_logger(std::make_shared<spdlog::sinks::stderr_color_sink_st>(), "%H:%M:%S %^%l%$ %v");
  std::shared_ptr<spdlog::logger> file;
  LogLevel terminal_level = LogLevel::Warning;
  std::FILE* status_out = nullptr;  ///< null: nobody shows a status line
  std::string status;
  bool lost = false;  ///< the file could not be written, and that was said

  void to_terminal(LogLevel level, std::string_view text) {
    wipe_status();
    terminal->log(spdlog_level(level), spdlog::string_view_t(text.data(), text.size()));
    draw_status();
  }
  void wipe_status() const {
    if (status.empty()) return;
    std::fputs("\r\x1b[K", status_out);
    std::fflush(status_out);
  }
  void draw_status() const {
    if (status.empty()) return;
    std::fprintf(status_out, "\r%s\x1b[K", status.c_str());
    std::fflush(status_out);
  }
};

Log& the_log() {
  static Log log;
  return log;
}

void say_log_is_lost(const std::string& why) {
  Log& out = the_log();
  if (std::exchange(out.lost, true)) return;
  out.to_terminal(LogLevel::Warning, "lines of the log are lost: " + why);
}

}  // namespace

void log_line(LogLevel level, std::string_view text) {
  Log& out = the_log();
  const MutexLock lock(out.mutex);
  if (level >= out.terminal_level) out.to_terminal(level, text);
  if (out.file && level >= LogLevel::Info) {
    out.file->log(spdlog_level(level), spdlog::string_view_t(text.data(), text.size()));
  }
}

void log_to_stderr(LogLevel level) {
  Log& out = the_log();
  const MutexLock lock(out.mutex);
  out.terminal_level = level;
}

bool open_log_file(const std::string& path) {
  Log& out = the_log();
  const MutexLock lock(out.mutex);
  out.file.reset();
  if (path.empty()) return true;
  try {
    out.file = make_logger(std::make_shared<spdlog::sinks::basic_file_sink_st>(path),
                           "%Y-%m-%d %H:%M:%S.%e %l %v");
    out.lost = false;
    out.file->set_error_handler(say_log_is_lost);
    return true;
  } catch (const spdlog::spdlog_ex&) {
    return false;
  }
}

StatusLine::StatusLine(std::FILE* out) {
  Log& all = the_log();
  const MutexLock lock(all.mutex);
  SLUICE_CHECK(all.status_out == nullptr) << "there is another status line";
  all.status_out = out;
}

StatusLine::~StatusLine() {
  end();
  Log& all = the_log();
  const MutexLock lock(all.mutex);
  all.status_out = nullptr;
}

void StatusLine::show(std::string_view text) {
  Log& all = the_log();
  const MutexLock lock(all.mutex);
  if (text.empty()) all.wipe_status();
  all.status = text;
  all.draw_status();
}

void StatusLine::end() {
  Log& all = the_log();
  const MutexLock lock(all.mutex);
  if (!all.status.empty()) std::fputc('\n', all.status_out);
  all.status.clear();
  std::fflush(all.status_out);
}

}  // namespace sluice
