// Environment steps per second while PPO trains on CartPole-v1 through the recipe's own program:
// rollout loops with inference inline, channels, trainer. Separate 2x64 tanh actor and critic, 4
// epochs x 4 minibatches, horizon 128, as every peer has it. The peers sweep their sizes and
// threads and give their best; ours is measured before, between and after them. The goal is held
// against what the peers ship; CleanRL's loop on Gymnasium's NumPy CartPole, which no peer ships
// and which is faster than all of them, is shown beside.
#include "apps/recipes/ppo_recipe.h"
#include "bench/peer.h"
#include "bench/processor_time.h"
#include "bench/program_run.h"
#include "bench/programs.h"

#include <cstdio>
#include <optional>

namespace sluice::bench {
namespace {

constexpr int kRepeats = 5;

struct PeerProgram {
  const char* script;
  std::vector<std::string> arguments;
  bool shipped;  ///< counts for the goal
};

struct Shape {
  int64_t replicas;
  int64_t envs;
  int64_t threads;
  [[nodiscard]] std::string text() const {
    return fmt::format("{} x {} envs, {} trainer threads", replicas, envs, threads);
  }
};

PpoSettings settings_of(const Shape& shape) {
  PpoSettings s;
  s.env = "CartPole-v1";
  s.replicas = shape.replicas;
  s.envs = shape.envs;
  s.horizon = 128;
  s.threads = shape.threads;
  s.checkpoint_every = 0;
  s.eval_every = 0;
  s.ppo.epochs = 4;
  s.ppo.minibatches = 4;
  return s;
}

struct Rates {
  std::vector<double> wall;       ///< steps per second
  std::vector<double> processor;  ///< steps per second of processor time
};

/// Rates over `repeats` windows of `length` seconds each, cut where a version ends.
Result<Rates> rates(const Shape& shape, uint64_t seed, double length, int repeats) {
  ASSIGN_OR_RETURN(Program program, ppo_program(settings_of(shape)));
  ProgramRun run(std::move(program), seed);
  RETURN_IF_ERROR(run.start());
  const RealClock& clock = RealClock::instance();
  Rates found;
  double last = 0;
  double steps_then = -1;
  double used_then = 0;
  TimeNs then = clock.now();
  RETURN_IF_ERROR(run.watch(
      static_cast<TimeNs>((length + 2) * (repeats + 1) * 4e9),
      [&] {
        const double steps = run.value("env_steps");
        if (steps == last) return false;
        last = steps;
        const TimeNs now = clock.now();
        if (static_cast<double>(now - then) < length * 1e9) return false;
        const double used = processor_seconds();
        if (steps_then >= 0) {
          found.wall.push_back((steps - steps_then) * 1e9 / static_cast<double>(now - then));
          found.processor.push_back((steps - steps_then) / (used - used_then));
        }
        steps_then = steps;
        used_then = used;
        then = now;
        return static_cast<int>(found.wall.size()) >= repeats;
      },
      kMillisecond / 2));
  RETURN_IF_ERROR(run.stop_training());
  if (static_cast<int>(found.wall.size()) < repeats) {
    return error(Code::DeadlineExceeded, "only {} of {} windows were full in time",
                 found.wall.size(), repeats);
  }
  return found;
}

Result<Shape> best_shape(uint64_t seed) {
  const std::vector<Shape> shapes = {{1, 64, 2}, {1, 256, 2}, {2, 64, 2}, {2, 128, 2}, {2, 256, 2}};
  Shape best = shapes.front();
  double best_rate = 0;
  for (const Shape& shape : shapes) {
    ASSIGN_OR_RETURN(const auto found, rates(shape, seed, 0.4, 3));
    const double rate = median(found.wall);
    std::fprintf(stderr, "ours, %s: %.0f steps/s\n", shape.text().c_str(), rate);
    if (rate > best_rate) {
      best = shape;
      best_rate = rate;
    }
  }
  return best;
}

}  // namespace

Result<Report> run_ppo_cartpole(const BenchOptions& options) {
  const double seconds = options.seconds > 0 ? options.seconds : 10;
  ASSIGN_OR_RETURN(const Shape shape, best_shape(options.seed));
  std::vector<double> ours;
  std::vector<double> per_processor;
  const auto measure = [&]() -> Status {
    ASSIGN_OR_RETURN(const auto found, rates(shape, options.seed, seconds / kRepeats, kRepeats));
    ours.insert(ours.end(), found.wall.begin(), found.wall.end());
    per_processor.insert(per_processor.end(), found.processor.begin(), found.processor.end());
    return {};
  };
  RETURN_IF_ERROR(measure());
  std::vector<PeerResult> peers;
  std::optional<PeerResult> best;
  std::string trouble;
  if (!options.peer_python.empty()) {
    const PeerProgram programs[] = {{"sb3_cartpole.py", {}, true},
                                    {"cleanrl_cartpole.py", {"--vec", "sync"}, true},
                                    {"cleanrl_cartpole.py", {"--vec", "native"}, false},
                                    {"sample_factory_cartpole.py", {}, true}};
    for (const auto& [script, extra, shipped] : programs) {
      std::vector<std::string> arguments = {"--sweep", "--seconds", fmt::format("{}", seconds),
                                            "--seed", fmt::format("{}", options.seed)};
      arguments.insert(arguments.end(), extra.begin(), extra.end());
      auto peer = run_peer(options, script, arguments);
      if (peer.ok()) {
        if (shipped && (!best || peer->value > best->value)) best = *peer;
        peers.push_back(*std::move(peer));
      } else {
        trouble += fmt::format("; {}", peer.status().message());
      }
      RETURN_IF_ERROR(measure());
    }
    if (peers.empty()) return error(Code::Unavailable, "no peer could be measured{}", trouble);
  }

  auto result = BenchResult::of("train_steps_per_second", ours, "steps/s");
  result.goal = Goal::at_least_ratio(10);
  result.note = shape.text() + trouble;
  Report report;
  if (best) {
    result.peer = "best: " + best->peer + " " + best->version;
    result.peer_value = best->value;
    result.peer_repeats = best->repeats;
  }
  report.push_back(result);
  for (const PeerResult& peer : peers) {
    BenchResult row = BenchResult::of("train_steps_per_second/" + peer.peer, ours, "steps/s");
    row.peer = peer.peer + " " + peer.version;
    row.peer_value = peer.value;
    row.peer_repeats = peer.repeats;
    row.note = "peer's best settings: " + peer.settings;
    report.push_back(std::move(row));
  }
  // What a busy machine does not hide.
  report.push_back(
      BenchResult::of("train_steps_per_processor_second", per_processor, "steps/cpu-s"));
  return report;
}

}  // namespace sluice::bench
