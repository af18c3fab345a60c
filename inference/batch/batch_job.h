#pragma once
#include "dataflow/base/result.h"
#include "inference/batch/trace_pruner.h"
#include "inference/engine/engine.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sluice {

struct BatchOptions {
  std::string input;        ///< JSON objects, one a line
  std::string output;       ///< one line for each sample of each prompt, in the order of the input
  SamplingParams sampling;  ///< of all prompts; its seed does not count
  std::shared_ptr<const Constraint> constraint;  ///< of all texts; null: none
  uint64_t seed = 0;    ///< a prompt's seed comes from this one and its number
  PruneOptions prune;   ///< of samples that begin as an earlier one of their prompt
  int64_t ahead = 512;  ///< prompts that are computed before the first of them is written
};

struct BatchProgress {
  int64_t prompts = 0;  ///< in the input
  int64_t done = 0;     ///< written, earlier runs included
  int64_t earlier = 0;  ///< written by earlier runs
  int64_t failed = 0;   ///< of this run
  int64_t pruned = 0;   ///< samples of this run
  int64_t tokens = 0;   ///< drawn by this run
};

/// The token ids of one line of the input: its prompt, its messages or its ids.
using EncodePrompt = std::function<Result<std::vector<int64_t>>(const nlohmann::ordered_json&)>;

/// Generates from a file of prompts to a file of samples:
///
///   {"index": 3, "sample": 0, "text": "..", "token_ids": [..], "logprobs": [..],
///    "finish_reason": "stop", "versions": [[0, "v12.1-0123abcd"]]}
///
/// `index` is the number of the line, from 0. A prompt that fails has an "error" instead. A sample
/// that was pruned has its first tokens, the finish_reason "pruned" and the number of the sample it
/// is like as "like" (see TracePruner). Lines
/// appear in order, so that a run that was cut off goes on behind the last whole prompt of the
/// output and writes what it would have written (in exact mode bit for bit). `progress` is called
/// after every step. InvalidArgument when no prompt could be sampled so, names the line when the
/// input is no JSON, or when the output was made with another number of samples or is no output of
/// ours (it is left as it is). FailedPrecondition when another run writes to the output.
Result<BatchProgress> run_batch(Engine& engine, const BatchOptions& options,
                                const EncodePrompt& encode,
                                const std::function<void(const BatchProgress&)>& progress = {});

/// How much of an output of `samples` lines for each prompt is whole.
struct BatchResume {
  int64_t prompts = 0;
  int64_t bytes = 0;
};
/// Of the content of an output. A cut last line, or a cut last prompt, does not count;
/// InvalidArgument when lines are of another run.
Result<BatchResume> find_resume(std::string_view content, int32_t samples);

}  // namespace sluice
