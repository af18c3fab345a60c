#include "inference/sampler/stop_rules.h"

#include <algorithm>

namespace sluice {

std::string_view name(FinishReason reason) noexcept {
  switch (reason) {
    case FinishReason::None:
      return "";
    case FinishReason::Stop:
      return "stop";
    case FinishReason::Length:
      return "length";
    case FinishReason::Abort:
      return "abort";
    case FinishReason::Failed:
      return "failed";
  }
  return "";
}

StopRules::StopRules(const SamplingParams& params, std::span<const int64_t> eos_ids)
    : stop_ids_(params.stop_token_ids),
      strings_(params.stop),
      min_tokens_(params.min_tokens),
      max_tokens_(params.max_tokens),
      include_stop_string_(params.include_stop_string) {
  if (!params.ignore_eos) stop_ids_.insert(stop_ids_.end(), eos_ids.begin(), eos_ids.end());
  std::sort(stop_ids_.begin(), stop_ids_.end());
}

bool StopRules::is_stop_id(int64_t token) const noexcept {
  return std::binary_search(stop_ids_.begin(), stop_ids_.end(), token);
}

FinishReason StopRules::after(int64_t token, int64_t generated) const noexcept {
  if (generated > min_tokens_ && is_stop_id(token)) return FinishReason::Stop;
  return generated >= max_tokens_ ? FinishReason::Length : FinishReason::None;
}

}  // namespace sluice
