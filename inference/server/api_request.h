#pragma once
#include "inference/engine/request.h"
#include "inference/sampler/constraint/constraint_cache.h"
#include "models/io/chat/model_templates.h"
#include "models/tokenizer/tokenizer.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// What requests are read against. Immutable but for its cache; any thread.
struct ServedModel {
  std::string name;
  std::shared_ptr<const Tokenizer> tokenizer;
  Result<ModelTemplates> templates = Status();
  int64_t vocabulary = 0;
  int64_t max_length = 0;    ///< tokens of prompt and output
  size_t longest_token = 1;  ///< bytes
  std::shared_ptr<ConstraintCache> constraints = std::make_shared<ConstraintCache>();
};

/// A request of /v1/completions or /v1/chat/completions, read and checked.
struct ApiRequest {
  bool chat = false;
  std::vector<GenRequest> requests;  ///< one for each prompt
  std::vector<std::string> prompts;  ///< their texts, for echo
  bool stream = false;
  bool include_usage = false;
  bool echo = false;
  bool logprobs = false;
  bool token_ids = false;  ///< the answer names the ids too
};

/// Reads a body. InvalidArgument in one line that names the field; NotFound for another model.
Result<ApiRequest> read_completion(std::string_view body, const ServedModel& model);
Result<ApiRequest> read_chat(std::string_view body, const ServedModel& model);

/// A body of /tokenize: ids of "prompt", or of "messages".
Result<std::vector<int64_t>> read_tokenize(std::string_view body, const ServedModel& model);
/// A body of /detokenize: the text of "tokens".
Result<std::string> read_detokenize(std::string_view body, const ServedModel& model);

}  // namespace sluice
