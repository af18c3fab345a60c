#include "workers/llm/rollout_log.h"

#include "dataflow/base/log.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <vector>

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Tokenizer& tokenizer, std::vector<int64_t> tokens) {
  const std::vector<TokenId> ids(tokens.begin(), tokens.end());
  return tokenizer.decode(ids, {.skip_special_tokens = false});
}

Json completion_of(const TokenRollout& rollout, const Tokenizer& tokenizer) {
  Json parts = Json::object();
  for (const auto& [name, value] : rollout.score.parts) parts[name] = value;
  Json tokens = Json::array();
  for (size_t i = 0; i < rollout.tokens.size(); ++i) {
    tokens.push_back({text_of(tokenizer, {rollout.tokens[i]}), rollout.logprobs[i]});
  }
  Json versions = Json::array();
  for (const VersionRun& run : rollout.versions) versions.push_back({run.start, run.version.step});
  return {{"text", rollout.text},           {"reward", rollout.score.reward},
          {"failed", rollout.score.failed}, {"truncated", rollout.truncated},
          {"parts", std::move(parts)},      {"tokens", std::move(tokens)},
          {"versions", std::move(versions)}};
}

}  // namespace

std::string rollout_line(const Group& group, int64_t step, const Tokenizer& tokenizer) {
  Json completions = Json::array();
  for (const TokenRollout& rollout : group.rollouts) {
    completions.push_back(completion_of(rollout, tokenizer));
  }
  const Json line = {{"step", step},
                     {"number", group.prompt.number},
                     {"problem", group.prompt.problem},
                     {"prompt", text_of(tokenizer, group.prompt.tokens)},
                     {"completions", std::move(completions)}};
  return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

RolloutLog::RolloutLog(const std::string& directory, std::shared_ptr<const Tokenizer> tokenizer)
    : path_(directory.empty() ? "" : directory + "/" + kFile), tokenizer_(std::move(tokenizer)) {}

void RolloutLog::add(const Group& group, int64_t step) {
  if (path_.empty() || !tokenizer_) return;
  std::ofstream out(path_, std::ios::app);
  out << rollout_line(group, step, *tokenizer_) << '\n';
  out.flush();
  if (!out && !lost_) log(LogLevel::Warning, "'{}' cannot be written: samples are lost", path_);
  lost_ = !out;
}

}  // namespace sluice
