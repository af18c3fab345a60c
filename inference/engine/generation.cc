#include "inference/engine/generation.h"

#include <algorithm>
#include <limits>

namespace sluice {

int64_t longest(const GenRequest& request, const GenerationLimits& limits) {
  return std::min(std::ssize(request.prompt) + request.sampling.max_tokens, limits.max_length);
}

Status check(const GenRequest& request, const GenerationLimits& limits) {
  RETURN_IF_ERROR(check(request.sampling, limits.vocabulary));
  const auto prompt = std::ssize(request.prompt);
  const auto generated = std::ssize(request.generated);
  if (prompt == 0) return invalid_argument("the prompt has no tokens");
  for (const auto* tokens : {&request.prompt, &request.generated}) {
    for (const int64_t id : *tokens) {
      if (id >= 0 && id < limits.vocabulary) continue;
      return invalid_argument("token {} is outside the vocabulary of {}", id, limits.vocabulary);
    }
  }
  const int64_t more = request.sampling.max_tokens > 0 ? 1 : 0;
  if (prompt + generated + more > limits.max_length) {
    return invalid_argument("the prompt has {} tokens, the model takes {} with the output",
                            prompt + generated, limits.max_length);
  }
  if (request.first_sample >
      std::numeric_limits<uint32_t>::max() - static_cast<uint32_t>(request.sampling.n)) {
    return invalid_argument("sample {} and {} more: their numbers do not fit", request.first_sample,
                            request.sampling.n);
  }
  if (generated > 0 && generated >= request.sampling.max_tokens) {
    return invalid_argument("{} tokens are generated already, max_tokens is {}", generated,
                            request.sampling.max_tokens);
  }
  return {};
}

Result<Generation> Generation::start(const GenRequest& request, uint32_t index,
                                     std::shared_ptr<const StopRules> rules,
                                     const Tokenizer* tokenizer,
                                     std::shared_ptr<ConstraintMasks> masks) {
  Generation own{0,
                 {},
                 OutputStream(std::move(rules), tokenizer),
                 std::move(masks),
                 ConstraintMasks::kStart,
                 {},
                 {},
                 false};
  own.out.index = index;
  // Only this penalty looks at the prompt, and each of n samples would keep its tokens.
  if (request.sampling.repetition_penalty != 1) own.counts.add_prompt(request.prompt);
  for (const int64_t token : request.generated) {
    if (own.stream.ended()) return invalid_argument("the generated tokens have ended already");
    own.counts.add_output(token);
    static_cast<void>(own.stream.put(token));
    if (!own.masks) continue;
    own.place = own.masks->advance(own.place, token);
    if (own.place == ConstraintMasks::kDead) {
      return invalid_argument("token {} of those generated breaks the constraint",
                              own.counts.generated() - 1);
    }
  }
  if (own.stream.ended()) return invalid_argument("the generated tokens have ended already");
  return own;
}

std::string Generation::add(SampledToken token, const VersionTag& version) {
  if (out.versions.empty() || out.versions.back().version != version) {
    out.versions.push_back({std::ssize(out.tokens), version});
  }
  counts.add_output(token.token);
  out.tokens.push_back(token.token);
  out.logprobs.push_back(token.logprob);
  out.logprobs_temperature.push_back(token.logprob_temperature);
  out.entropies.push_back(token.entropy);
  out.kept.push_back(token.kept);
  if (!token.top.empty()) out.top.push_back(std::move(token.top));
  OutputStream::Update update = stream.put(token.token);
  out.reason = update.finish;
  if (masks && out.reason == FinishReason::None) {
    place = masks->advance(place, out.tokens.back());
    SLUICE_CHECK(place != ConstraintMasks::kDead) << "a token that its constraint forbids";
    // Nothing may follow and no token says so: the text itself is the end.
    if (masks->stop_ids().empty() && masks->must_end(place)) {
      update.text += stream.close();
      out.reason = FinishReason::Stop;
    }
  }
  out.text += update.text;
  return std::move(update.text);
}

void Generation::end(FinishReason reason) {
  if (!stream.ended()) out.text += stream.close();
  out.reason = reason;
  ended = true;
}

void Generation::cut(size_t tokens, size_t text_size) {
  if (!stream.ended()) static_cast<void>(stream.close());
  out.tokens.resize(tokens);
  out.logprobs.resize(tokens);
  out.logprobs_temperature.resize(tokens);
  out.entropies.resize(tokens);
  out.kept.resize(tokens);
  if (!out.top.empty()) out.top.resize(tokens);
  while (!out.versions.empty() && out.versions.back().start >= std::ssize(out.tokens)) {
    out.versions.pop_back();
  }
  out.text.resize(text_size);
}

}  // namespace sluice
