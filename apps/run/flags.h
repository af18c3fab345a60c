#pragma once
#include <cstdint>

namespace CLI {
class App;
class Option;
class ParseError;
}  // namespace CLI

namespace sluice {

/// Checks of what stands behind a flag. Each refusal is one line that says what would be right.

/// An empty text is refused: it is a variable of a script that was not set, never a wish.
CLI::Option* text(CLI::Option* option);
/// A whole number in [low, high], also written 1_000_000 or 1e6. Sets `value`.
CLI::Option* whole_number(CLI::Option* option, int64_t low, int64_t high = INT64_MAX);
/// Seconds; at least `low`, or above it when `open`, and few enough to be counted in nanoseconds.
CLI::Option* seconds(CLI::Option* option, double low, bool open = false);

/// Prints what is wrong with a command line to standard error, in one line, and returns 2; for
/// --help and --version prints them and returns 0.
int refuse(const CLI::App& app, const CLI::ParseError& error);

}  // namespace sluice
