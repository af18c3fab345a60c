// The same seed twice gives the same bits, and so does a run that was checkpointed and resumed half
// way. Compared are all saved states of trainer and rollout: weights, optimiser, counters,
// environment states, random counters. Only the trainer's incarnation may differ after a resume.
// One rollout replica.
#include "apps/recipes/ppo_recipe.h"
#include "bench/program_run.h"
#include "bench/programs.h"

#include <cstdio>

namespace sluice::bench {
namespace {

constexpr int64_t kEnvs = 16;
constexpr int64_t kHorizon = 32;
constexpr int64_t kIterations = 10;

Result<RunState> end_state(Layout layout, int64_t iterations, uint64_t seed, RunState from = {}) {
  PpoSettings s = PpoSettings::for_env("CartPole-v1");
  s.layout = layout;
  s.envs = kEnvs;
  s.horizon = kHorizon;
  s.eval_every = 0;
  s.checkpoint_every = 0;
  s.ppo.anneal = false;  // the schedule would see another length of run
  s.max_steps = iterations * kEnvs * kHorizon;
  ASSIGN_OR_RETURN(Program program, ppo_program(s));
  ProgramRun run(std::move(program), seed, std::move(from));
  RETURN_IF_ERROR(run.start());
  RETURN_IF_ERROR(run.finish(120 * kSecond));
  RETURN_IF_ERROR(run.stop());
  if (run.state().empty()) return error(Code::Internal, "the run left no state");
  return run.state();
}

/// The first difference of two states, "" when there is none.
std::string difference(const RunState& a, const RunState& b) {
  if (a.size() != b.size()) return "workers";
  for (const auto& [worker, snapshot] : a) {
    const auto other = b.find(worker);
    if (other == b.end()) return worker;
    const auto& left = snapshot.blobs();
    const auto& right = other->second.blobs();
    if (left.size() != right.size()) return worker;
    for (const auto& [name, bytes] : left) {
      if (name == "incarnation") continue;
      const auto found = right.find(name);
      if (found == right.end() || found->second != bytes) return worker + " " + name;
    }
  }
  return "";
}

}  // namespace

Result<Report> run_repeat(const BenchOptions& options) {
  Report report;
  const std::pair<Layout, const char*> layouts[] = {
      {Layout::Inline, "inline"}, {Layout::Seed, "seed"}, {Layout::Split, "split"}};
  for (const auto& [layout, name] : layouts) {
    ASSIGN_OR_RETURN(const auto once, end_state(layout, kIterations, options.seed));
    ASSIGN_OR_RETURN(const auto again, end_state(layout, kIterations, options.seed));
    ASSIGN_OR_RETURN(const auto other, end_state(layout, kIterations, options.seed + 1));
    ASSIGN_OR_RETURN(const auto half, end_state(layout, kIterations / 2, options.seed));
    ASSIGN_OR_RETURN(const auto resumed, end_state(layout, kIterations, options.seed, half));
    // A comparison that cannot tell seeds apart would prove nothing.
    if (difference(once, other).empty()) {
      return error(Code::Internal, "two seeds gave the same state");
    }
    const auto row = [&](const char* what, const std::string& differs) {
      auto r = BenchResult::once(fmt::format("{}/{}", what, name), differs.empty() ? 1.0 : 0.0);
      r.goal = Goal::at_least_value(1);
      if (!differs.empty()) r.note = "first difference: " + differs;
      report.push_back(std::move(r));
    };
    row("same_seed_same_bits", difference(once, again));
    row("resumed_same_bits", difference(once, resumed));
  }
  return report;
}

}  // namespace sluice::bench
