#pragma once
#include "bench/bench.h"

#include <string>
#include <vector>

namespace sluice::bench {

/// What a peer's program said in its one JSON line.
struct PeerResult {
  std::string peer;     ///< "sb3"
  std::string version;  ///< its own
  double value = 0;
  std::string unit;
  std::vector<double> repeats;
  std::string settings;  ///< as JSON: what it chose
};

/// Reads the last line of a peer's output that is a JSON object. DataLoss when there is none, or
/// when it lacks "peer" or a numeric "value".
Result<PeerResult> parse_peer(std::string_view output);

/// Runs `script` of options.peers_dir with options.peer_python and the arguments; its standard
/// error goes to ours. NotFound when the interpreter or the script is missing, Unavailable with the
/// exit code when the program failed (2: its packages are missing).
Result<PeerResult> run_peer(const BenchOptions& options, const std::string& script,
                            const std::vector<std::string>& arguments);

}  // namespace sluice::bench
