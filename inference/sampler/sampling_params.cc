#include "inference/sampler/sampling_params.h"

#include "models/tokenizer/utf8.h"

#include <cmath>

namespace sluice {
namespace {

class Faults {
 public:
  template <class... A>
  void require(bool fine, fmt::format_string<A...> format, A&&... args) {
    if (fine) return;
    if (!text_.empty()) text_ += "; ";
    text_ += fmt::format(format, std::forward<A>(args)...);
  }
  [[nodiscard]] Status status() const {
    return text_.empty() ? Status() : Status(Code::InvalidArgument, text_);
  }

 private:
  std::string text_;
};

/// The first id outside the vocabulary, if any.
template <class List, class Id>
std::optional<int64_t> outside(const List& list, int64_t vocabulary, Id id) {
  for (const auto& item : list) {
    if (id(item) < 0 || id(item) >= vocabulary) return id(item);
  }
  return std::nullopt;
}

void check_ids(const SamplingParams& p, int64_t vocabulary, Faults& faults) {
  const auto same = [](int64_t id) { return id; };
  const auto require = [&](const char* what, std::optional<int64_t> wrong) {
    faults.require(!wrong, "{} names token {}, the vocabulary has {}", what, wrong.value_or(0),
                   vocabulary);
  };
  require("stop_token_ids", outside(p.stop_token_ids, vocabulary, same));
  require("allowed_tokens", outside(p.allowed_tokens, vocabulary, same));
  require("logit_bias", outside(p.logit_bias, vocabulary, [](const auto& b) { return b.first; }));
  for (const auto& [id, bias] : p.logit_bias) {
    if (std::isfinite(bias)) continue;
    faults.require(false, "logit_bias of token {} must be finite, not {}", id, bias);
    break;
  }
}

void check_stops(const SamplingParams& p, Faults& faults) {
  faults.require(p.stop.size() <= SamplingParams::kMaxStopStrings,
                 "stop has {} strings; at most {} are taken", p.stop.size(),
                 SamplingParams::kMaxStopStrings);
  for (const std::string& stop : p.stop) {
    const bool fine = !stop.empty() && stop.size() <= SamplingParams::kMaxStopBytes;
    faults.require(fine, "a stop string must have 1 to {} bytes, not {}",
                   SamplingParams::kMaxStopBytes, stop.size());
    faults.require(utf8::valid(stop), "a stop string is not valid UTF-8");
    if (!fine || !utf8::valid(stop)) break;
  }
}

}  // namespace

Status check(const SamplingParams& p, int64_t vocabulary) {
  Faults faults;
  // NaN fails every comparison, so each is written as what must hold.
  faults.require(p.temperature >= 0 && std::isfinite(p.temperature),
                 "temperature must be 0 or more and finite, not {}", p.temperature);
  faults.require(p.top_k >= 0, "top_k must be 0 (off) or more, not {}", p.top_k);
  faults.require(p.top_p > 0 && p.top_p <= 1, "top_p must be above 0 and at most 1, not {}",
                 p.top_p);
  faults.require(p.min_p >= 0 && p.min_p <= 1, "min_p must lie in [0, 1], not {}", p.min_p);
  faults.require(p.repetition_penalty > 0 && std::isfinite(p.repetition_penalty),
                 "repetition_penalty must be above 0 and finite, not {}", p.repetition_penalty);
  faults.require(p.presence_penalty >= -2 && p.presence_penalty <= 2,
                 "presence_penalty must lie in [-2, 2], not {}", p.presence_penalty);
  faults.require(p.frequency_penalty >= -2 && p.frequency_penalty <= 2,
                 "frequency_penalty must lie in [-2, 2], not {}", p.frequency_penalty);
  faults.require(p.n >= 1 && p.n <= SamplingParams::kMaxSamples, "n must lie in [1, {}], not {}",
                 SamplingParams::kMaxSamples, p.n);
  faults.require(p.max_tokens >= 1 || (p.max_tokens == 0 && p.prompt_logprobs),
                 "max_tokens must be 1 or more (or 0 with prompt_logprobs), not {}", p.max_tokens);
  faults.require(p.min_tokens >= 0, "min_tokens must be 0 or more, not {}", p.min_tokens);
  faults.require(p.min_tokens <= p.max_tokens || p.max_tokens < 0,
                 "min_tokens {} is more than max_tokens {}", p.min_tokens, p.max_tokens);
  faults.require(p.top_logprobs >= 0 && p.top_logprobs <= SamplingParams::kMaxTopLogprobs,
                 "top_logprobs must lie in [0, {}], not {}", SamplingParams::kMaxTopLogprobs,
                 p.top_logprobs);
  check_ids(p, vocabulary, faults);
  check_stops(p, faults);
  return faults.status();
}

}  // namespace sluice
