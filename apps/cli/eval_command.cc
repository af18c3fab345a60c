#include "apps/cli/commands.h"
#include "apps/observe/checkpoint_store.h"
#include "apps/run/flags.h"
#include "apps/run/settings.h"
#include "envs/registry.h"
#include "workers/evaluation.h"
#include "workers/saved_policy.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>

namespace sluice {
namespace {

struct EvalOptions {
  std::string run;
  std::string checkpoint;
  std::string env;
  int64_t episodes = 100;
  uint64_t seed = 1;
  bool json = false;
};

Result<SavedPolicy> load_policy(const EvalOptions& options) {
  ASSIGN_OR_RETURN(const std::string recipe, recipe_of_run(options.run));
  const CheckpointStore store(options.run + "/checkpoints", recipe);
  auto loaded = options.checkpoint.empty() ? store.load_latest() : store.load(options.checkpoint);
  if (!loaded.ok()) return loaded.status();
  for (const auto& [name, snapshot] : loaded->workers) {
    if (snapshot.has("policy.env")) return SavedPolicy::load(snapshot);
  }
  return error(Code::NotFound, "{} holds no policy", loaded->path);
}

std::string spaces(const EnvSpec& spec) {
  return fmt::format("observes {} and acts {}", spec.observation.to_string(),
                     spec.action.kind == ActionSpec::Kind::Discrete
                         ? fmt::format("1 of {}", spec.action.n)
                         : spec.action.tensor().to_string());
}

/// Another environment than the one trained on must have the same spaces.
Status check_spaces(const std::string& trained, const EnvSpec& wanted) {
  if (trained == wanted.name) return {};
  ASSIGN_OR_RETURN(const EnvSpec known, env_spec(trained));
  if (spaces(known) == spaces(wanted)) return {};
  return invalid_argument("the policy was trained on '{}', which {}; '{}' {}", trained,
                          spaces(known), wanted.name, spaces(wanted));
}

Result<EpisodeScore> evaluate(const EvalOptions& options) {
  ASSIGN_OR_RETURN(const SavedPolicy policy, load_policy(options));
  const std::string env = options.env.empty() ? policy.env : options.env;
  ASSIGN_OR_RETURN(const EnvSpec known, env_spec(env));
  RETURN_IF_ERROR(check_spaces(policy.env, known));
  ASSIGN_OR_RETURN(const ActorCriticSpec spec, actor_critic_spec(known, policy.net));
  PolicyModel model(spec, RandomKey(options.seed));
  RETURN_IF_ERROR(model.install(policy.weights));
  ASSIGN_OR_RETURN(auto evaluation,
                   Evaluation::begin(env, options.episodes, RandomKey(options.seed).split("eval")));
  evaluation.score().version = policy.weights.tag;
  for (;;) {
    ASSIGN_OR_RETURN(const bool more, evaluation.step(model));
    if (!more) return evaluation.score();
  }
}

}  // namespace

void add_eval_command(CLI::App& app, int& exit_code) {
  CLI::App* eval = app.add_subcommand("eval", "score the policy of a run");
  auto options = std::make_shared<EvalOptions>();
  text(eval->add_option("run", options->run, "run directory"))->required();
  text(eval->add_option("--checkpoint", options->checkpoint,
                        "this one instead of the newest (RUN/checkpoints/step-N)"))
      ->option_text("DIR");
  text(eval->add_option("--env", options->env, "another environment of the same spaces"))
      ->option_text("NAME");
  whole_number(eval->add_option("--episodes", options->episodes, "episodes to play (default 100)"),
               1, 1 << 20)
      ->option_text("N");
  whole_number(eval->add_option("--seed", options->seed, "seed of the episodes (default 1)"), 0)
      ->option_text("N");
  eval->add_flag("--json", options->json, "print one JSON object");
  eval->callback([options, &exit_code] {
    const auto score = evaluate(*options);
    if (!score.ok()) {
      exit_code = complain(score.status().message(), 1);
      return;
    }
    const auto [low, high] = std::minmax_element(score->returns.begin(), score->returns.end());
    if (options->json) {
      std::printf(
          "{\"version\": %lld, \"episodes\": %zu, \"mean\": %.17g, \"deviation\": %.17g, \"min\": "
          "%.17g, \"max\": %.17g}\n",
          static_cast<long long>(score->version.step), score->returns.size(), score->mean(),
          score->deviation(), *low, *high);
    } else {
      std::printf("version %s: return %.2f +- %.2f (%.2f to %.2f) over %zu episodes\n",
                  score->version.to_string().c_str(), score->mean(), score->deviation(), *low,
                  *high, score->returns.size());
    }
    exit_code = 0;
  });
}

}  // namespace sluice
