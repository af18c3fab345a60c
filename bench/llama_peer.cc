#include "bench/llama_peer.h"

#include "bench/peer.h"

namespace sluice::bench {

Result<BenchResult> beside_llama(const BenchOptions& options, const LlamaWork& work,
                                 const std::string& metric, std::vector<double> ours, double goal) {
  ASSIGN_OR_RETURN(const PeerResult peer,
                   run_peer(options, "llama_cpp.py",
                            {"--threads", "2", "--batch", std::to_string(work.batch), "--prompt",
                             std::to_string(work.prompt), "--new", std::to_string(work.drawn),
                             "--types", work.types}));
  auto row = BenchResult::of(metric, std::move(ours), "tokens/s");
  row.peer = peer.peer + " " + peer.version;
  row.peer_value = peer.value;
  row.peer_repeats = peer.repeats;
  row.goal = Goal::at_least_ratio(goal);
  row.note = "peer: " + peer.settings;
  return row;
}

}  // namespace sluice::bench
