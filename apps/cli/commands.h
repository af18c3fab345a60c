#pragma once
#include <string>

namespace CLI {
class App;
}

namespace sluice {

/// Each adds one subcommand to the `sluice` command. What the subcommand does runs from its
/// callback, which stores the exit code in `exit_code`.
void add_run_command(CLI::App& app, int& exit_code);
void add_list_command(CLI::App& app, int& exit_code);
void add_eval_command(CLI::App& app, int& exit_code);
void add_bench_command(CLI::App& app, int& exit_code);
void add_tokenize_command(CLI::App& app, int& exit_code);
void add_doctor_command(CLI::App& app, int& exit_code);
void add_completion_command(CLI::App& app, int& exit_code);
void add_chat_template_command(CLI::App& app, int& exit_code);
void add_convert_command(CLI::App& app, int& exit_code);
void add_export_command(CLI::App& app, int& exit_code);
void add_fetch_command(CLI::App& app, int& exit_code);
void add_inspect_command(CLI::App& app, int& exit_code);
void add_generate_command(CLI::App& app, int& exit_code);
void add_serve_command(CLI::App& app, int& exit_code);
void add_chat_command(CLI::App& app, int& exit_code);

/// Prints "error: ..." to standard error and returns `code`.
int complain(const std::string& message, int code);

}  // namespace sluice
