#include "models/transformer/lora/name_pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace sluice {
namespace {
constexpr size_t kMaxPattern = 4096;
constexpr uint32_t kMaxSteps = 100'000;
constexpr uint32_t kMaxHeapKib = 4096;
}  // namespace

void NamePattern::Free::operator()(pcre2_real_code_8* code) const { pcre2_code_free(code); }

Result<NamePattern> NamePattern::compile(const std::string& pattern) {
  return compile(pattern, pattern);
}

Result<NamePattern> NamePattern::compile_suffix(const std::string& pattern) {
  return compile(pattern, "(?:.*\\.)?(?:" + pattern + ")");
}

Result<NamePattern> NamePattern::compile(const std::string& shown, const std::string& pattern) {
  if (pattern.size() > kMaxPattern) {
    return invalid_argument("a pattern of {} bytes; at most {} are read", pattern.size(),
                            kMaxPattern);
  }
  int code = 0;
  PCRE2_SIZE at = 0;
  NamePattern out;
  out.text_ = shown;
  out.code_.reset(
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                    PCRE2_UTF | PCRE2_ANCHORED | PCRE2_ENDANCHORED | PCRE2_NEVER_BACKSLASH_C, &code,
                    &at, nullptr));
  if (out.code_) return out;
  PCRE2_UCHAR message[128] = {};
  pcre2_get_error_message(code, message, sizeof(message));
  return invalid_argument("pattern '{}': {}", shown, reinterpret_cast<const char*>(message));
}

Result<bool> NamePattern::matches(std::string_view name) const {
  const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> data(
      pcre2_match_data_create(1, nullptr), pcre2_match_data_free);
  const std::unique_ptr<pcre2_match_context, decltype(&pcre2_match_context_free)> bounds(
      pcre2_match_context_create(nullptr), pcre2_match_context_free);
  pcre2_set_match_limit(bounds.get(), kMaxSteps);
  pcre2_set_heap_limit(bounds.get(), kMaxHeapKib);
  const int found = pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(name.data()), name.size(),
                                0, 0, data.get(), bounds.get());
  if (found >= 0) return true;
  if (found == PCRE2_ERROR_NOMATCH) return false;
  PCRE2_UCHAR message[128] = {};
  pcre2_get_error_message(found, message, sizeof(message));
  return error(Code::ResourceExhausted, "pattern '{}' on module '{}': {}", text_, name,
               reinterpret_cast<const char*>(message));
}

}  // namespace sluice
