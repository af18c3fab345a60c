#pragma once
#include "inference/sampler/sampling_params.h"
#include "inference/sampler/stop_matcher.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace sluice {

/// Why a sample ended.
enum class FinishReason : uint8_t { None, Stop, Length, Abort, Failed };

/// "stop", "length", "abort", "failed" as the HTTP interface says it; empty for None.
[[nodiscard]] std::string_view name(FinishReason reason) noexcept;

/// When the samples of a request end. Immutable; all of them share it.
///
/// Token number min_tokens + 1 is the first that may be a stop id (the sampler forbids them
/// before), token number min_tokens the first whose text may complete a stop string.
class StopRules {
 public:
  /// `eos_ids`: all that the model's configuration names; ignore_eos makes them tokens as any
  /// other, but for those that the request itself lists.
  StopRules(const SamplingParams& params, std::span<const int64_t> eos_ids);

  [[nodiscard]] bool is_stop_id(int64_t token) const noexcept;
  [[nodiscard]] std::span<const int64_t> stop_ids() const noexcept { return stop_ids_; }
  [[nodiscard]] const StopMatcher& strings() const noexcept { return strings_; }

  /// What token number `generated` (the first is 1) means by its id and number alone.
  [[nodiscard]] FinishReason after(int64_t token, int64_t generated) const noexcept;
  [[nodiscard]] bool string_may_stop(int64_t generated) const noexcept {
    return generated >= min_tokens_;
  }
  [[nodiscard]] bool include_stop_string() const noexcept { return include_stop_string_; }

 private:
  std::vector<int64_t> stop_ids_;  ///< sorted
  StopMatcher strings_;
  int64_t min_tokens_;
  int64_t max_tokens_;
  bool include_stop_string_;
};

}  // namespace sluice
