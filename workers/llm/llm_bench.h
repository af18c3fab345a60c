#pragma once
#include "dataflow/types/rollout.h"
#include "workers/llm_engine.h"
#include "workers/test_bench.h"

#include <memory>
#include <string>
#include <vector>

/// What the tests of this folder drive workers with.
namespace sluice::testing {

/// Channels "prompts", "groups", "generate", "judge" and "weights"; the test holds the other ends.
class LlmBench : public Bench {
 public:
  using Bench::Bench;
  StreamSpec prompts{"prompts", "Prompt", {}, 1, 1};
  StreamSpec groups{"groups", "Group", {}, 1, 1};
  ServiceSpec generate{"generate", "GenRequest -> Completion", {}, 1};
  ServiceSpec judge{"judge", "JudgeRequest -> Scores", {}, 1};

  StreamWriter<Prompt> prompt_writer() {
    return StreamWriter<Prompt>(*transport.open_writer(prompts, test_waker));
  }
  StreamReader<Prompt> prompt_reader() {
    return StreamReader<Prompt>(*transport.open_reader(prompts, test_waker));
  }
  StreamReader<Group> group_reader() {
    return StreamReader<Group>(*transport.open_reader(groups, test_waker));
  }
  ServiceServer<GenRequest, Completion> engine() {
    return ServiceServer<GenRequest, Completion>(*transport.open_server(generate, test_waker));
  }
  ServiceServer<JudgeRequest, Scores> judge_server() {
    return ServiceServer<JudgeRequest, Scores>(*transport.open_server(judge, test_waker));
  }
  ServiceClient<JudgeRequest, Scores> judge_client() {
    return ServiceClient<JudgeRequest, Scores>(*transport.open_client(judge, test_waker));
  }

  Result<Route<StreamSpec>> stream(std::string_view channel, const ReplicaId& /*who*/) override {
    return Route<StreamSpec>{&transport, channel == "prompts" ? prompts : groups};
  }
  Result<Route<ServiceSpec>> service(std::string_view channel, const ReplicaId& /*who*/) override {
    return Route<ServiceSpec>{&transport, channel == "judge" ? judge : generate};
  }
};

/// A completion of `n` samples of two tokens each, drawn by `tag`.
inline Completion completion(int64_t n, const VersionTag& tag) {
  Completion done;
  for (int64_t i = 0; i < n; ++i) {
    Sample sample;
    sample.index = static_cast<uint32_t>(i);
    sample.tokens = {10 + i, 2};
    sample.logprobs = {-0.5F, -0.25F};
    sample.entropies = {1.0F, 0.5F};
    sample.versions = {{0, tag}};
    sample.text = std::to_string(i);
    sample.reason = FinishReason::Stop;
    done.samples.push_back(std::move(sample));
  }
  return done;
}

}  // namespace sluice::testing
