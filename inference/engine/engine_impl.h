#pragma once
#include "inference/engine/engine.h"

#include <ATen/core/Tensor.h>

/// What engine.cc and engine_step.cc share.
namespace sluice {

struct Engine::Request {
  RequestId id = 0;
  GenRequest spec;
  GenListener listener;
  uint64_t seed = 0;
  /// Until the prompt is computed only the first has a sequence; then the others are its forks.
  std::vector<Generation> samples;
  bool forked = false;
  bool admitted = false;
  int64_t open = 0;  ///< samples under way
  int64_t cached = 0;
  std::vector<float> prompt_logprobs;
  bool told = false;  ///< the listener knows of the end
};

/// One use of a row of logits: a draw, or the score of a prompt token.
struct Engine::Job {
  Request* request = nullptr;
  size_t sample = 0;
  int64_t row = 0;     ///< of the plan
  int64_t token = 0;   ///< of the batch: the logits behind it
  int64_t logits = 0;  ///< row of the logits; those behind its drafts follow
  int64_t drafts = 0;
  int64_t scored = -1;                       ///< index of the prompt token; -1: a draw
  std::shared_ptr<const TokenMask> allowed;  ///< by a constraint; null: all
  Result<SampledToken> result = Status();
};

/// What the model said behind the tokens of a step that are drawn or scored behind.
struct Engine::StepOutput {
  at::Tensor logits;  ///< [rows, vocabulary of the head]; undefined: none
  at::Tensor hidden;  ///< [rows, hidden], when the drafter wants it
  int64_t vocabulary = 0;

  [[nodiscard]] std::span<const float> scores(int64_t row) const {
    const auto* data = static_cast<const float*>(logits.const_data_ptr());
    return {data + row * logits.size(1), static_cast<size_t>(vocabulary)};
  }
  [[nodiscard]] std::span<const float> states(int64_t row) const {
    const auto* data = static_cast<const float*>(hidden.const_data_ptr());
    return {data + row * hidden.size(1), static_cast<size_t>(hidden.size(1))};
  }
};

struct Engine::Event {
  std::shared_ptr<Request> request;
  uint32_t sample = 0;
  size_t index = 0;   ///< of the sample in the request
  size_t tokens = 0;  ///< of the sample with this one
  size_t text_size = 0;
  SampledToken token;
  std::string text;
  FinishReason finish = FinishReason::None;
  bool done = false;
};

/// Weights that wait for the sequences under way to end.
struct Engine::Next {
  std::unique_ptr<Transformer> model;
  VersionTag version;
};

}  // namespace sluice
